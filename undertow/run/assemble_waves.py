"""Makers of waves and beaches of a scene."""

from __future__ import annotations

from functools import partial

import numpy as np

from undertow.errors import UserError
from undertow.fluid import Flow, waves
from undertow.fluid.advected import Content, FieldContext
from undertow.fluid.liquid import LiquidSurface
from undertow.fluid.wave_zones import WaveZone, ZoneSide, surface_level
from undertow.run.build import gravity_at_start
from undertow.scene import Beach, IrregularWave, RegularWave, Scene, WaveMaker

LONGEST = 0.5
"""Longest wave that a beach absorbs, over its length."""

CROSSINGS, GROWTH = {"beach": 3.0, "wave_maker": 12.0}, {"beach": 2.0, "wave_maker": 1.0}
"""int sigma ds over the speed of the longest wave, and with which power of the way sigma grows: what comes back from a
beach crosses it twice; a maker leads its wave up to its end, where the grid would take from it (decision 142)."""

MAKER = 1.5
"""Length of a maker, over that of its wave: the side itself, which stands still, sends out a near field that falls by
exp(-pi s / 2h) in water of depth h, and in deep water by about as much per half wavelength."""

CELLS = 16
"""Of the shortest of irregular waves: at 10 a wave loses 5% of its amplitude on its own length."""

RAMP = 2.0
"""Periods in which waves grow, unless the scene says otherwise."""

BREAKING = 0.44
"""Steepness k a at which waves break in deep water, pi 0.142 (Miche 1944)."""


def wave_contents(scene: Scene) -> list[Content]:
    """What makes the regions of waves of a scene."""
    return [partial(_make_zone, scene, name, item) for name, item in scene.wave_zones.items()]


def _make_zone(scene: Scene, name: str, item: Beach | WaveMaker, context: FieldContext) -> WaveZone:
    grid, liquid = context.grid, context.extent
    assert isinstance(liquid, LiquidSurface)
    axis, end = "xyz".index(item.side[0]), int(item.side.endswith("high"))
    gravity = -gravity_at_start(scene)[1]
    start = ZoneSide(name, axis, end, item.length or np.inf, 0.0)
    level = surface_level(grid, liquid.surface.phi_c, start) if item.level is None else item.level
    depth = level - grid.lower[1] if item.depth is None else item.depth
    if isinstance(item, Beach):
        speed = waves.wave_speed(LONGEST * item.length, depth, gravity)
        side = ZoneSide(name, axis, end, item.length, level)
        return WaveZone(context, side, waves.still(depth), CROSSINGS[item.type] * speed, GROWTH[item.type])
    omega = 2.0 * np.pi / item.wave.period
    wave = _make_wave(scene, name, item, depth, gravity, grid.dx)
    longest = 2.0 * np.pi / float(waves.wave_number(omega, depth, gravity))
    length = MAKER * longest if item.length is None else item.length
    size = grid.cells[axis] * grid.dx
    if length > size:
        raise UserError(
            f"objects.{name}: {length:.3g} m for a wave of {longest:.3g} m, longer than the domain ({size:g} m); "
            "lower wave.period, or give the maker a length"
        )
    speed = waves.group_speed(omega, depth, gravity)
    return WaveZone(
        context, ZoneSide(name, axis, end, length, level), wave, CROSSINGS[item.type] * speed, GROWTH[item.type]
    )


def _make_wave(scene: Scene, name: str, item: WaveMaker, depth: float, gravity: float, dx: float) -> waves.WaveField:
    given = item.wave
    ramp = RAMP * given.period if item.ramp is None else item.ramp
    if isinstance(given, RegularWave):
        wave = waves.regular(given.amplitude, given.period, depth, gravity, ramp)
        steepness = float(wave.k[0] * given.amplitude / np.tanh(wave.k[0] * depth))
        if steepness > BREAKING:
            raise UserError(
                f"objects.{name}.wave.amplitude = {given.amplitude:g}: waves of {given.period:g} s in {depth:.3g} m of "
                f"water break at {BREAKING / steepness * given.amplitude:.3g} m; lower it, or raise the period"
            )
        return wave
    seed = scene.seed if given.seed is None else given.seed
    highest = waves.highest_frequency(given.period, depth, gravity, CELLS * dx)
    return waves.irregular(
        given.height, given.period, given.peak_factor, given.count, seed, depth, gravity, ramp, highest
    )


def tell_waves(scene: Scene, flow: Flow) -> list[str]:
    """What the grid leaves out of irregular waves, and makers that are short."""
    notes = []
    for zone in (field for field in flow.fields if isinstance(field, WaveZone) and len(field.wave.amplitude)):
        name, item = zone.side.name, scene.wave_zones[zone.side.name]
        assert isinstance(item, WaveMaker)
        if isinstance(item.wave, IrregularWave):
            highest = float(zone.wave.omega.max()) / (2.0 * np.pi)
            left = waves.part_above(highest, item.wave.period, item.wave.peak_factor)
            notes.append(
                f"objects.{name}: waves shorter than {1.0 / highest:.3g} s, {left:.0%} of the energy of the spectrum, "
                f"are left out; the others have the height of all (waves take {CELLS} cells of {flow.grid.dx:.3g} m)"
            )
        peak = float(waves.wave_number(2.0 * np.pi / item.wave.period, zone.wave.depth, -gravity_at_start(scene)[1]))
        if zone.side.length < (1.0 - 1e-6) * MAKER * 2.0 * np.pi / peak:
            notes.append(
                f"objects.{name}.length = {zone.side.length:.3g}: less than one and a half wavelengths "
                f"({MAKER * 2.0 * np.pi / peak:.3g} m); the amplitude may be some per cent off"
            )
    return notes
