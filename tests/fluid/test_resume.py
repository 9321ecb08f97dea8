"""A flow continued from its saved state repeats every bit, whatever its form and stepper."""

import numpy as np
import pytest

from undertow.fluid import Flow, FlowSettings
from undertow.geometry import ConstantCurve, Solid, SolidFields, Sphere, VelocityCurves
from undertow.grid import INFLOW, OUTFLOW, WALL, Grid, Sides


def make(form: str, stepper: str) -> Flow:
    """A disc that moves across a stream."""
    grid = Grid((20, 14, 1), 0.1, dimensions=2)
    sides = Sides(grid, [INFLOW, OUTFLOW] + [WALL] * 4)
    sides.set_velocity(0, (0.5, 0.0, 0.0))
    motion = VelocityCurves(ConstantCurve((0.1, 0.3, 0.0)), position=(0.7, 0.55, 0.05))
    solids = SolidFields(grid, [Solid("disc", Sphere(0.22), motion)])
    transport = "semi_lagrangian" if stepper == "implicit" else "eno3"
    settings = FlowSettings(viscosity=0.02, viscosity_form=form, stepper=stepper, advection=transport, tolerance=1e-6)
    return Flow(grid, sides, solids, settings)


@pytest.mark.parametrize("stepper", ["first_order", "second_order", "implicit"])
@pytest.mark.parametrize("form", ["split", "coupled"])
def test_continued_flow_repeats_every_bit(form: str, stepper: str) -> None:
    whole, half = make(form, stepper), make(form, stepper)
    dt = 0.02
    for step in range(5):
        whole.step(step * dt, dt)
        if step == 2:
            half.restore(whole.arrays(), whole.numbers(), 3 * dt)
        if step > 2:
            half.step(step * dt, dt)
    for name, array in whole.arrays().items():
        assert np.array_equal(array, half.arrays()[name]), name
    assert whole.forces() == half.forces()
