"""A solid with a Poisson ratio of 0.5 rests where the constraint of its one-rings lets it, no stiffer."""

from __future__ import annotations

import numpy as np
import pytest

from undertow.soft.polygons import mesh_polygon
from undertow.validation.cook_membrane.case import CORNERS, WIDTH, E, deflect
from undertow.validation.cook_membrane.constrained import deflect_linear


def test_panel_of_poisson_ratio_one_half_rests_at_the_constrained_minimum() -> None:
    mesh = mesh_polygon("membrane", np.array(CORNERS), WIDTH / 8)
    wanted = deflect_linear(np.asarray(mesh[0])[:, :2], np.asarray(mesh[1]), E / 3, 0.0, True)
    assert deflect(8, 0.5, True) == pytest.approx(wanted, rel=1e-3)
