"""A bubble of a thousandth of the liquid's density rises and grows a skirt: against three published codes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from undertow.validation.analysis import Quantity, quantity
from undertow.validation.hysing_1.case import peak, rise

BUBBLE, TENSION = (1.0, 0.1), 1.96
GRIDS, FINEST = (32,), 128
PARTED = 2.0
"""Until then the published codes agree [s]."""
SMOKE: dict[str, object] = {}


def run(full: bool = False) -> Iterator[Quantity]:
    """One coarse grid, reported; ``full`` the grid of the benchmark."""
    for cells in (FINEST,) if full else GRIDS:
        found = rise(cells, BUBBLE, TENSION)
        first = found.rows[found.rows[:, 0] < 1.4]
        later = found.rows[(found.rows[:, 0] > 1.6) & (found.rows[:, 0] < 2.3)]
        for name, rows in (("speed", first), ("speed_again", later)):
            value, at = peak(rows, 3, 1.0)
            yield quantity(f"{name}_{cells}", value, unit="m/s")
            yield quantity(f"{name}_time_{cells}", at, unit="s", info=cells != FINEST)
        centre = float(found.rows[-1, 2])
        yield quantity(f"circularity_{cells}", float(np.min(found.rows[:, 1])), info=cells != FINEST)
        yield quantity(f"centre_{cells}", centre, unit="m")
        yield quantity(f"volume_{cells}", found.volume)
        yield quantity(f"bubbles_{cells}", found.bubbles, info=True)
