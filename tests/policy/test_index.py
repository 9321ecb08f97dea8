"""Where values lie in arrays is the business of ``grid`` and ``linalg``; numbers with a name do not become more."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("counts", Path(__file__).with_name("counts.py"))
assert _SPEC is not None and _SPEC.loader is not None
counts = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(counts)

FLAT = {
    "benchmarks/poisson.py": 3,
    "coupling/enclosed.py": 3,
    "coupling/fields_under_surface.py": 1,
    "coupling/fractions.py": 2,
    "coupling/rigid_fluid.py": 4,
    "coupling/shell_fractions.py": 6,
    "coupling/soft_fields.py": 1,
    "coupling/walls.py": 6,
    "fluid/contact_line.py": 5,
    "fluid/domain.py": 4,
    "fluid/forces.py": 7,
    "fluid/free_surface.py": 6,
    "fluid/front_liquid.py": 2,
    "fluid/liquid.py": 38,
    "fluid/phase.py": 3,
    "fluid/pressure.py": 6,
    "fluid/separation.py": 6,
    "fluid/still_water.py": 7,
    "fluid/viscosity.py": 1,
    "fluid/waters.py": 4,
    "geometry/pieces.py": 2,
    "geometry/solids.py": 6,
    "geometry/thin.py": 1,
    "output/raymarch.py": 1,
    "surface/contact_angle.py": 1,
    "surface/level_set.py": 1,
    "surface/marching.py": 4,
    "surface/one_sided.py": 3,
    "surface/particles.py": 9,
    "surface/sampling.py": 3,
    "transport/advection.py": 8,
    "transport/one_sided.py": 6,
    "transport/sight.py": 3,
    "validation/kernel_moments/case.py": 1,
    "validation/tension_energy/case.py": 2,
}
"""How often a file may still compute an index by hand (``counts.FLAT_INDEX``). Use ``Grid.index``, ``number``,
``split``, ``position``, ``stride``, and in kernels those of ``grid/index.py``. The list may only shrink."""

CONSTANTS = 448
"""Numbers with a name at module level, tuned or not; 200 are aimed at. It may only fall."""


def test_indices_are_computed_in_the_grid() -> None:
    found = counts.flat_indices()
    more = {name: count for name, count in found.items() if count > FLAT.get(name, 0)}
    assert not more, f"use the index algebra of grid: {more}"
    fewer = {name: found.get(name, 0) for name, count in FLAT.items() if found.get(name, 0) < count}
    assert not fewer, f"the list may shrink to {fewer}"


def test_constants_do_not_become_more() -> None:
    found = counts.constants()
    assert len(found) <= CONSTANTS, f"{len(found)} constants: name what is tuned once, where it is used"
    assert CONSTANTS - len(found) < 20, f"the bound may fall to {len(found)}"
