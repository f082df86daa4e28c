"""What sixty recorded fits select, the trees they grow and the criterion they reach stay what they are."""

import numpy as np
import pytest

from .fits import fits, made, stored

STORED = stored()


@pytest.mark.parametrize("name", fits())
def test_a_recorded_fit_is_what_it_was(name):
    now, then = made(fits()[name]), STORED[name]
    assert now["support"] == then["support"]
    assert now.get("trees") == then.get("trees")
    if "objective" in then:
        np.testing.assert_allclose(now["objective"], then["objective"], rtol=1e-9)
