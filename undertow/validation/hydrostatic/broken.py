"""Defects that ``hydrostatic`` must see."""

from __future__ import annotations

import numpy as np

from undertow.fluid import Flow
from undertow.validation import broken
from undertow.validation.hydrostatic import case


def _stir(water: Flow) -> None:
    water.state.u[0] += 1e-5 * np.sin(np.arange(water.state.u.shape[3]))


DEFECTS = {
    "weight halved": broken.with_options(case, "FlowSettings", gravity=(0.0, -4.905, 0.0)),
    "wrong sign of gravity": broken.with_options(case, "FlowSettings", gravity=(0.0, 9.81, 0.0)),
    "stirred": broken.after_steps(_stir),
}
