"""Linear algebra keeps within ``n_jobs`` for the time of a fit, and has its threads back afterwards."""

import importlib
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from joblib import parallel_config
from threadpoolctl import ThreadpoolController, threadpool_limits

import skgraft
from skgraft.run.threads import SMALL_CELLS, threads

module = importlib.import_module("skgraft.run.threads")  # the room's door has a function of this name

LARGE = np.broadcast_to(0.0, (SMALL_CELLS + 1, 1))  # a shape that takes no memory
SMALL = np.zeros((10, 10))
X = np.random.default_rng(0).normal(size=(60, 8))
y = X[:, 0] - X[:, 1] > 0


def blas_threads():
    """Return the limits of all linear algebra libraries in this process."""
    return [lib["num_threads"] for lib in ThreadpoolController().info() if lib["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def _four_threads():
    with threadpool_limits(4, "blas"):
        yield
        assert set(blas_threads()) == {4}


@pytest.mark.parametrize(
    ("n_jobs", "data", "limit"), [(None, LARGE, 1), (1, LARGE, 1), (3, LARGE, 3), (3, SMALL, 1), (3, None, 1)]
)
def test_blas_has_n_jobs_threads_and_one_where_x_is_small(n_jobs, data, limit):
    with threads(n_jobs, data) as workers:
        assert set(blas_threads()) == {limit}
        assert workers.size == (n_jobs or 1)


def test_the_context_of_joblib_stands_in_for_none():
    with parallel_config("threading", n_jobs=2), threads(None, LARGE):
        assert set(blas_threads()) == {2}


def test_a_fit_never_takes_more_than_there_was():
    with threadpool_limits(2, "blas"), threads(64, LARGE):
        assert set(blas_threads()) == {2}


@pytest.mark.parametrize("first_out", [0, 1, 2])
def test_fits_that_overlap_leave_the_limits_as_they_were(first_out):
    """Whichever ends first: the least limit of those still at work holds, and the first one comes back last."""
    asked = [2, 1, 3]
    stacks = [ExitStack() for _ in asked]
    for stack, n_jobs in zip(stacks, asked, strict=True):
        stack.enter_context(threads(n_jobs, LARGE))
    assert set(blas_threads()) == {1}
    left = list(range(3))
    for k in [first_out, *(k for k in range(3) if k != first_out)]:
        stacks[k].close()
        left.remove(k)
        assert set(blas_threads()) == {min([4, *(asked[j] for j in left)])}


class OfAThread:
    """A library whose limit holds for the thread that sets it, as MKL's and that of OpenBLAS with OpenMP."""

    user_api = "blas"

    def __init__(self):
        self._local = threading.local()

    def get_num_threads(self):
        return getattr(self._local, "limit", 4)

    def set_num_threads(self, limit):
        self._local.limit = limit


def test_libraries_with_a_limit_for_each_thread_are_told_from_those_with_one_for_all():
    assert not module._is_of_the_process(OfAThread())
    assert not module._libraries().of_a_thread  # NumPy's and SciPy's own have one for all
    assert len(module._libraries().of_the_process) == len(blas_threads())


def test_a_limit_for_each_thread_is_that_of_the_thread(monkeypatch):
    library = OfAThread()
    monkeypatch.setattr(module, "_libraries", lambda: module._Libraries([library], []))
    inside, ended = threading.Event(), threading.Event()

    def fit():
        with threads(2, LARGE):
            inside.set()
            ended.wait()
            return library.get_num_threads()

    with ThreadPoolExecutor(1) as executor:
        with threads(1, LARGE):
            other = executor.submit(fit)
            inside.wait()
            assert library.get_num_threads() == 1
        assert library.get_num_threads() == 4
        ended.set()
        assert other.result() == 2
        assert executor.submit(library.get_num_threads).result() == 4


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_fit_in_another_thread_is_limited_too(n_jobs):
    def fit():
        with threads(n_jobs, LARGE):
            return set(blas_threads())

    with threads(None, SMALL):
        pass  # threadpoolctl would listen to this thread alone from here on
    with ThreadPoolExecutor(1) as executor:
        assert executor.submit(fit).result() == {n_jobs}


def test_fits_in_many_threads_leave_the_limits_as_they_were():
    started = threading.Barrier(4)

    def fit(n_jobs):
        started.wait()
        for _ in range(5):
            skgraft.GraftClassifier(l1=0.05, n_jobs=n_jobs).fit(X, y)

    workers = [threading.Thread(target=fit, args=(1 + k % 2,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(blas_threads()) == {4}


@pytest.mark.parametrize(
    "model",
    [
        skgraft.GraftClassifier(),
        skgraft.GraftClassifierCV(n_l1s=3, cv=2),
        skgraft.StreamGraftClassifier(),
        skgraft.MLPGraftClassifier(max_units=1, max_iter=5),
        skgraft.GBFSClassifier(n_trees=2),
        skgraft.AROMClassifier(),
        skgraft.FSVClassifier(),
        skgraft.L1SVC(),
        skgraft.KernelAROMClassifier(),
        skgraft.RFESelector(),
        skgraft.R2W2Selector(),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_works_within_n_jobs(model, n_jobs, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "SMALL_CELLS", 0)
    applied = module._LIMITS._apply
    monkeypatch.setattr(module._LIMITS, "_apply", lambda: (applied(), seen.extend(blas_threads())))
    model.set_params(n_jobs=n_jobs).fit(X, y)
    one = n_jobs is None or isinstance(model, skgraft.GraftClassifierCV)  # whose threads treat a fold each
    assert min(seen) == (1 if one else 2), seen
