"""Work that is shared out is done once, and all of it."""

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed, parallel_config
from numpy.testing import assert_array_equal

from skgraft.matrix.threads import LEAST_WORK, n_threads, workers


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 7, 64, 1001])
@pytest.mark.parametrize("unit", [1, 4])
def test_every_piece_is_done_once(size, n, unit):
    times, firsts = np.zeros(n, int), []

    def task(first, last):
        times[first:last] += 1
        firsts.append(first)

    with workers(size) as threads:
        threads.run(task, n, 2.0 * LEAST_WORK, unit=unit)
    assert_array_equal(times, 1)
    assert all(first % unit == 0 for first in firsts)
    if size > 1 and n == 1001:
        assert len(firsts) > size


def test_little_work_stays_with_the_caller():
    calls = []
    with workers(3) as threads:
        threads.run(lambda first, last: calls.append((first, last)), 100, 0.5 * LEAST_WORK)
    assert calls == [(0, 100)]


def test_what_a_thread_raises_reaches_the_caller():
    def task(first, last):
        if last == 1000:
            msg = f"piece {first}:{last}"
            raise ValueError(msg)

    with workers(3) as threads, pytest.raises(ValueError, match="piece"):
        threads.run(task, 1000, 2.0 * LEAST_WORK)


def test_n_jobs_means_what_it_means_to_joblib():
    assert n_threads(None) == n_threads(1) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == cpu_count() >= 1
    assert n_threads(-10_000) == 1
    with parallel_config("threading", n_jobs=3):
        assert n_threads(None) == 3
        assert n_threads(2) == 2


def test_a_fit_inside_a_parallel_loop_has_one_thread():
    assert Parallel(n_jobs=2, prefer="threads")(delayed(n_threads)(None) for _ in range(4)) == [1] * 4
