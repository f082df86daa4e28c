import re
import subprocess
import sys
from importlib.metadata import version

import pytest

import skgraft


def test_importing_the_package_loads_neither_numpy_nor_scikit_learn():
    program = "import sys, skgraft; print(*sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert loaded.split() == []


@pytest.mark.parametrize("name", skgraft.__all__)
def test_every_public_name_can_be_imported_and_is_listed(name):
    assert getattr(skgraft, name) is not None
    assert name in dir(skgraft)


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match=re.escape("module 'skgraft' has no attribute 'Grafter'")):
        skgraft.Grafter  # noqa: B018


def test_the_version_is_the_installed_one():
    assert skgraft.__version__ == version("skgraft")
