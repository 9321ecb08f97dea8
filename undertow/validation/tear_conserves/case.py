"""Cloth, a solid and a rope tear: what is kept, and the load at which strips fail, against formulas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import undertow as ut
from undertow.validation.analysis import Quantity, quantity

WIDTH, LENGTH = 0.4, 1.0
"""Of the strips [m]; those of solids are half as wide and as thick as wide."""
TENSION, MODULUS = 100.0, 1e5
"""Stretching modulus of the sheet [N/m]; Young's modulus of the solid [Pa]."""
STRETCH, STRESS = 1.2, 1e4
"""Limits of sheet and rope, and of the solid [Pa]."""
STRONG = WIDTH * TENSION * STRETCH * (STRETCH**2 - 1.0) / 2.0
"""Load [N] at which the sheet has its limit: St Venant and Kirchhoff, without Poisson's effect."""
DURATION = 2.0
"""In which the load grows from nothing to 1.2 of the strength [s]."""
RATES = (50.0, 100.0, 200.0)
"""Steps per second."""
SIZES = (0.1, 0.05)
"""Of the elements [m]."""


def box(*size: float) -> ut.Box:
    """A box of a size [m]."""
    return ut.Box(size=size)


def pull(force: float, area: float, y: float, reach: float) -> ut.TractionLoad:
    """A traction along y that grows to 1.2 of a force [N] on an area [m2], where y is within half of ``reach`` [m]."""
    grows = ut.Table(times=(0.0, DURATION), values=((0.0, 0.0, 0.0), (0.0, 1.2 * force / area, 0.0)))
    return ut.TractionLoad(traction=grows, region=ut.Region(shape=box(2.0, reach, 2.0), position=(0.0, y, 0.0)))


def top() -> ut.Hold:
    """The upper end of a strip is held."""
    return ut.Hold(shape=box(2.0, 0.02, 2.0), position=(0.0, 0.5 * LENGTH, 0.0))


def sheet(size: float, **more: Any) -> ut.Cloth:
    """An upright sheet, whose triangles below -0.3 m and above 0.3 m are to be pulled."""
    return ut.Cloth(
        size=(WIDTH, LENGTH), position=(0, 0, 0), rotation=ut.Rotation(axis=(1, 0, 0), degrees=90.0), element_size=size,
        density=0.01, stretching=TENSION, poisson_ratio=0.0, bending=0.0, damping=0.002,
        tear=ut.Tear(stretch=STRETCH), **more,
    )  # fmt: skip


def bar(size: float, **more: Any) -> ut.SoftBody:
    """An upright bar of elements of a size [m]."""
    return ut.SoftBody(
        shape=box(0.5 * WIDTH, LENGTH, 0.5 * WIDTH), position=(0, 0, 0), element_size=size, density=100.0,
        youngs_modulus=MODULUS, poisson_ratio=0.0, tear=ut.Tear(stress=STRESS), **more,
    )  # fmt: skip


def rope(size: float, force: float) -> ut.Rope:
    """A rope that hangs, pulled by a load that grows to 1.2 of a force [N]."""
    grows = ut.Table(times=(0.0, DURATION), values=((0.0, 0.0, 0.0), (0.0, -1.2 * force, 0.0)))
    return ut.Rope(
        position=(0.0, 0.5 * LENGTH, 0.0), end=(0.0, -0.5 * LENGTH, 0.0), element_size=size, density=0.005,
        stretching=TENSION, damping=0.002, holds=(top(),), tear=ut.Tear(stretch=STRETCH),
        loads=(ut.ForceLoad(force=grows, at=(0.0, -0.5 * LENGTH, 0.0)),),
    )  # fmt: skip


def simulate(item: Any, rate: float | None, stepper: str) -> ut.Simulation:
    """Without gravity, with steps of 1 / rate [s], or as long as they may be."""
    step = {} if rate is None else {"fixed_step": 1.0 / rate}
    time = ut.Time(end=DURATION, frame_rate=rate or 100.0, **step)
    # pieces that fly apart do not meet
    soft = ut.Soft(stepper=stepper, collisions=False)
    scene = ut.Scene(name="strip", gravity=(0.0, 0.0, 0.0), objects={"strip": item}, time=time, soft=soft)
    return ut.Simulation(scene)


def fails_at(item: Any, rate: float | None = 100.0, stepper: str = "implicit") -> tuple[float, int]:
    """Load at which a strip begins to tear, in parts of its strength, and pieces that it is in when it is through."""
    sim = simulate(item, rate, stepper)
    load = float("nan")
    while sim.time < DURATION - 1e-9:
        report = sim.step()
        if report.torn and np.isnan(load):
            load = 1.2 * (report.time - 0.5 * report.time_step) / DURATION
        if report.torn and report.torn[0].pieces > 1:
            return load, report.torn[0].pieces
    return load, 1


def sheet_fails(size: float, rate: float | None = 100.0, stepper: str = "implicit") -> tuple[float, int]:
    """Of a sheet that is pulled over its lowest fifth, see ``fails_at``."""
    pulled = pull(-STRONG, 0.2 * WIDTH, -0.5 * LENGTH, 0.4)
    return fails_at(sheet(size, holds=(top(),), loads=(pulled,)), rate, stepper)


def bar_fails(size: float, rate: float) -> float:
    """Of a bar that is pulled at its lower end: the load, see ``fails_at``."""
    area = (0.5 * WIDTH) ** 2
    pulled = pull(-STRESS * area, area, -0.5 * LENGTH, 0.01)
    return fails_at(bar(size, holds=(top(),), loads=(pulled,), damping=0.002), rate)[0]


def kept(item: Any, rate: float | None, stepper: str, until: float) -> dict[str, float]:
    """What changes, in the steps in which it tears, of a strip on which no force acts in sum: mass, momentum, angular
    momentum in parts of their own, and elastic energy gained by a tear in parts of what there is."""
    sim = simulate(item, rate, stepper)
    before, mass = sim.ledger.row(), sim.nodes("strip").mass.sum()
    found = dict.fromkeys(("mass", "momentum", "angular_momentum", "energy", "facets"), 0.0)
    while sim.time < until - 1e-9:
        report = sim.step()
        after = report.ledger
        for one in report.torn:
            found["facets"] += one.facets
            found["energy"] = max(found["energy"], -one.released / before["soft_elastic_energy"])
            found["mass"] = max(found["mass"], abs(float(sim.nodes("strip").mass.sum()) / mass - 1.0))
            for name in ("momentum", "angular_momentum"):
                then, now = (np.array([row[f"{name}_{axis}"] for axis in "xyz"]) for row in (before, after))
                change = float(np.linalg.norm(now - then)) / max(float(np.linalg.norm(then)), 1e-300)
                found[name] = max(found[name], change)
        before = after
    return found


def kept_sheet(size: float = 0.1) -> dict[str, float]:
    """A sheet that flies and is pulled from both ends."""
    loads = tuple(pull(sign * STRONG, 0.2 * WIDTH, sign * 0.5 * LENGTH, 0.4) for sign in (-1.0, 1.0))
    return kept(sheet(size, velocity=(0.3, 0.1, 0.2), loads=loads), 100.0, "implicit", 1.75)


def kept_bar(size: float = 0.1) -> dict[str, float]:
    """A bar that spins too fast, rho omega^2 L^2 / 8 = 1.3 of its strength, by an explicit scheme without damping: it
    solves for nothing."""
    spin = float(np.sqrt(1.3 * 8.0 * STRESS / (100.0 * LENGTH**2)))
    item = bar(size, velocity=(0.3, 0.1, 0.2), angular_velocity=(0.0, 0.0, spin))
    return kept(item, None, "leapfrog", 0.1)


def run(full: bool = False) -> Iterator[Quantity]:
    """Sums through tears, then strengths."""
    of = {"sheet": kept_sheet(), "bar": kept_bar()}
    torn = min(found["facets"] for found in of.values())
    for name in ("mass", "momentum"):
        yield quantity(name, max(found[name] for found in of.values()) if torn else float("nan"), of=of)
    yield quantity("angular_momentum", of["bar"]["angular_momentum"] if torn else float("nan"), of=of)
    yield quantity("energy_gained", max(found["energy"] for found in of.values()) if torn else float("nan"), of=of)
    sheets = {f"{size}, {rate:g}/s": sheet_fails(size, rate) for size in SIZES for rate in RATES}
    loads = {words: load for words, (load, _) in sheets.items()}
    yield quantity("pieces", max((pieces for _, pieces in sheets.values()), key=lambda n: abs(n - 2)), loads=loads)
    yield quantity("strength_cloth_low", min(loads.values()), loads=loads)
    yield quantity("strength_cloth_high", max(loads.values()), loads=loads)
    yield quantity("strength_linearised", sheet_fails(0.1, 100.0, "linearised")[0])
    yield quantity("strength_leapfrog", sheet_fails(0.1, None, "leapfrog")[0])
    loads = {f"{size}, {rate:g}/s": bar_fails(size, rate) for size in SIZES for rate in RATES}
    yield quantity("strength_solid_low", min(loads.values()), loads=loads)
    yield quantity("strength_solid_high", max(loads.values()), loads=loads)
    force = TENSION * (STRETCH - 1.0)
    yield quantity("strength_rope", fails_at(rope(0.05, force))[0])
