"""The measure of ``pressure-order`` tells cut faces from whole ones."""

import numpy as np
import pytest

from undertow.geometry import SolidFields
from undertow.validation.analysis import observed_order
from undertow.validation.pressure_order.case import largest_error


@pytest.mark.parametrize("rounded", [False, True])
def test_fractions_of_faces_give_second_order_and_whole_faces_do_not(monkeypatch, rounded):
    update = SolidFields.update

    def update_whole(self, t):
        changed = update(self, t)
        np.round(self.area_f, out=self.area_f)
        return changed

    if rounded:
        monkeypatch.setattr(SolidFields, "update", update_whole)
    offsets = np.array([[0.1, 0.2, 0.0], [0.6, 0.3, 0.0], [0.4, 0.8, 0.0]])
    sizes = [16, 32, 64]
    errors = [max(largest_error(n, 2, offset) for offset in offsets) for n in sizes]
    order = observed_order(sizes, errors)
    assert order < 1.2 if rounded else order > 1.7, errors
