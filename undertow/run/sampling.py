"""Fields of a running simulation: at points, on cells for frames, and through sections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from undertow.errors import UserError
from undertow.fluid import measure
from undertow.grid import GHOSTS, Array, Grid
from undertow.grid.operators import cell_velocity, vorticity
from undertow.transport import sample_centred, sample_velocity

if TYPE_CHECKING:
    from undertow.fluid.flow import Flow

FIELDS = ("velocity", "pressure", "density", "smoke", "temperature", "vorticity", "divergence", "level_set",
          "open_fraction", "viscosity")  # fmt: skip


def cell_field(flow: Flow, field: str) -> Array:
    """A field at the interior cell centres: (nz, ny, nx), or (3, nz, ny, nx) for vectors. SI units."""
    state, grid = flow.state, flow.grid
    if field == "velocity":
        return cell_velocity(grid, state.u)
    if field == "vorticity":
        return vorticity(grid, state.u)
    if field == "divergence":
        return _divergence(grid, state.u)
    if field == "pressure":
        return state.p[grid.interior]
    if field == "open_fraction":
        return flow.domain.volume_c[grid.interior]
    if field == "density":
        return np.full(state.p[grid.interior].shape, flow.phase.mass_of(1.0))
    carried = flow.cells()
    if field in carried:
        return np.asarray(carried[field][grid.interior])
    if field == "level_set":
        raise UserError("field 'level_set': this scene has no water; add an object of type 'water' to the scene")
    if field in ("smoke", "temperature"):
        raise UserError(f"field {field!r}: this scene has no smoke; add a [smoke] table to the scene")
    if field == "viscosity":
        return np.full(state.p[grid.interior].shape, flow.settings.viscosity)
    raise UserError(f"field {field!r} is unknown; the fields are {', '.join(FIELDS)}")


def _divergence(grid: Grid, u: Array) -> Array:
    """Sum over axes of (u at the upper face - u at the lower face) / dx [1/s], whole faces, in every cell."""
    total = np.zeros(grid.cells[::-1])
    for axis in grid.axes:
        lower = list(grid.interior)
        upper = list(grid.interior)
        s = upper[2 - axis]
        upper[2 - axis] = slice(s.start + 1, s.stop + 1)
        total += (u[axis][tuple(upper)] - u[axis][tuple(lower)]) / grid.dx
    return total


def check_points(points: object) -> tuple[Array, bool]:
    """Points (n, 3) [m] of what a user gave as (n, 3), (n, 2) or one point, and whether it was one."""
    try:
        given = np.array(points, dtype=float)
    except (TypeError, ValueError):
        what = str(points)[:60]
        raise UserError(f"sample: points = {what!r}: give coordinates of shape (n, 3), in 2D (n, 2)") from None
    places = np.atleast_2d(given)
    if places.ndim != 2 or places.shape[1] not in (2, 3) or not np.isfinite(places).all():
        raise UserError(f"sample: points of shape {given.shape}; give finite coordinates of shape (n, 3)")
    if places.shape[1] == 2:
        places = np.column_stack([places, np.zeros(len(places))])
    return places, given.ndim == 1


def sample(flow: Flow, field: str, points: object) -> Array:
    """A field at points (n, 3) or (n, 2) [m], or at one point: shape (n,) or (n, 3) for vectors, trilinear."""
    places, single = check_points(points)
    grid = flow.grid
    _check_inside(flow, places)
    if field == "velocity":
        values = sample_velocity(grid, flow.state.u, places)
    else:
        cells = cell_field(flow, field)
        parts = cells if cells.ndim == 4 else cells[None]
        values = np.stack([sample_centred(grid, _padded(flow, part), places) for part in parts], axis=-1)
        values = values if cells.ndim == 4 else values[:, 0]
    return values[0] if single else values


def _check_inside(flow: Flow, places: Array) -> None:
    """Points outside the domain have no value; across a periodic side it goes on."""
    grid = flow.grid
    for axis in grid.axes:
        if flow.sides.is_periodic(axis):
            continue
        x, lower, upper = places[:, axis], grid.lower[axis], grid.upper[axis]
        slack = 1e-6 * grid.dx
        outside = np.flatnonzero((x < lower - slack) | (x > upper + slack))
        if len(outside):
            raise UserError(
                f"sample: the point {places[outside[0], : grid.dimensions].tolist()} is outside the domain, which "
                f"reaches from {lower:g} to {upper:g} m along {'xyz'[axis]}; move it inside"
            )


def surface_height(flow: Flow, point: Sequence[float]) -> float:
    """Height y of the highest surface of the water outside solids on the vertical through a point [m].

    Where the level set changes sign between the centres of cells; the domain's lower end without water there, its upper
    end where the highest cell is full.
    """
    grid = flow.grid
    heights, phi = _along_vertical(flow, point)
    wet = np.flatnonzero(phi <= 0.0)
    if len(wet) == 0:
        return float(grid.lower[1])
    j = int(wet[-1])
    if j == len(heights) - 1:
        return float(grid.upper[1])
    return float(heights[j] + grid.dx * phi[j] / (phi[j] - phi[j + 1]))


def wetted_length(flow: Flow, point: Sequence[float]) -> float:
    """Length of the vertical through a point that lies in water and outside solids [m], the level set being linear
    between the centres of cells."""
    return measure.wet_length(_along_vertical(flow, point)[1], flow.grid.dx)


def wall_pressure(flow: Flow, points: Array, normal: Array) -> Array:
    """Pressure (n,) [Pa] at points (n, 3) [m] of a wall whose normal (3,) points into the fluid.

    That half a cell inside, and in water its weight from there to the wall, dp/dn = rho g.n; 0 in the air.
    """
    inner = points + 0.5 * flow.grid.dx * normal
    pressure = sample(flow, "pressure", inner)
    if flow.extent.phi_c is None:
        return pressure
    weight = measure.column_weight(flow.phase, points - inner)
    return np.asarray(np.where(sample(flow, "level_set", inner) <= 0.0, pressure + weight, 0.0))


def _along_vertical(flow: Flow, point: Sequence[float]) -> tuple[Array, Array]:
    """Heights y of the centres of cells on the vertical through a point, and there the level set of the water outside
    solids [m]."""
    grid, solid_c = flow.grid, getattr(flow.extent, "solid_c", None)
    heights = grid.coordinates(1, 0.5)
    places = np.zeros((len(heights), 3))
    places[:, : len(point)] = point
    places[:, 1] = heights
    phi = sample(flow, "level_set", places)
    if solid_c is not None:
        phi = np.maximum(phi, -sample_centred(grid, _padded(flow, solid_c[grid.interior]), places))
    return heights, phi


def _padded(flow: Flow, cells: Array) -> Array:
    """A cell field with ghosts: the nearest cell's value, or the other side's where the domain is periodic."""
    periodic = [axis < flow.grid.dimensions and flow.sides.is_periodic(axis) for axis in (2, 1, 0)]
    for array_axis, wraps in enumerate(periodic):
        width = [(0, 0)] * 3
        width[array_axis] = (GHOSTS, GHOSTS)
        cells = np.pad(cells, width, mode="wrap" if wraps else "edge")
    return np.ascontiguousarray(cells)


def flux(flow: Flow, axis: int, position: float) -> float:
    """Volume flow [m3/s; 2D m2/s] along ``axis`` through the grid faces nearest to ``position`` [m]."""
    open_f = flow.domain.area_f if flow.solids is None else flow.solids.area_f
    return measure.flux(flow.grid, flow.state.u, open_f, axis, position)
