"""Kernels run where nothing can be kept on disk: in another user's installation, without a home."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skgraft

IMPORT_ALL = """
import importlib, pkgutil, warnings
import skgraft
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    names = [found.name for found in pkgutil.walk_packages(skgraft.__path__, "skgraft.")]
    kernels = [importlib.import_module(name) for name in names if name.endswith("._kernels")]
    assert len(kernels) >= 6, names
    from skgraft.matrix._kernels import column_dot
    import numpy as np
    assert column_dot(np.arange(3.0), np.arange(3), np.uintp(0), np.uintp(3), np.ones(3)) == 3.0
said = [str(warning.message) for warning in caught if "NUMBA_CACHE_DIR" in str(warning.message)]
assert len(said) == 1, said
"""

FIT = """
import numpy as np
from skgraft import GBFSClassifier, GraftClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4000))
y = X[:, 0] + X[:, 1] > 0
assert GraftClassifier(l1=0.15).fit(X, y).support_[:2].all()
assert GBFSClassifier(n_trees=3).fit(X[:, :20], y).support_.any()
"""


def run_without_a_cache(script, folder):
    """Run in a copy of the package beside which, as under the home, no directory can be made."""
    package = folder / "skgraft"
    shutil.copytree(Path(skgraft.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for kernels in [*package.rglob("_kernels.py"), package / "compiled.py"]:
        kernels.with_name("__pycache__").touch()  # permissions would not stop root, a file of that name does
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment |= {"PYTHONPATH": str(folder), "HOME": os.devnull}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)


def test_without_a_cache_kernels_are_compiled_in_memory_and_that_is_said_once(tmp_path):
    done = run_without_a_cache(IMPORT_ALL, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_without_a_cache_estimators_learn(tmp_path):
    done = run_without_a_cache(FIT, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
