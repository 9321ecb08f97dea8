"""Flow past a cylinder between two sides by a lattice-Boltzmann method, as an independent reference.

    python -m undertow.validation.lattice_boltzmann street [CELLS]     Strouhal number in the box of the thesis
    python -m undertow.validation.lattice_boltzmann fall [CELLS]       terminal speeds of the falling cylinder

Nothing of it is shared with the solvers that it judges. Nine velocities, two relaxation rates with the product 3/16,
at which straight walls lie half way between nodes (Ginzburg et al. 2008); the cylinder by linear interpolation along
links (Bouzidi et al. 2001), the force on it by the momentum exchanged along them. What comes in is given half a cell
before the first column by bounce-back, the pressure half a cell behind the last by anti-bounce-back.

Sound has to get out, as the viscosity of the fluid would need 1e5 steps to wear it down: the pressure at the outlet
follows the mean velocity there as a plane wave that leaves asks, which changes nothing in a flow of constant volume,
and the start is the potential flow around the cylinder, which makes little sound.

Lengths are in cells, times in steps; CELLS are those of a diameter.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from undertow.validation.analysis import Array

E = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
"""Velocities (x, y)."""
WEIGHT = np.array([4 / 9] + 4 * [1 / 9] + 4 * [1 / 36])
BACK = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
"""The opposite velocity of each."""
MIRROR = np.array([0, 1, 4, 3, 2, 8, 7, 6, 5])
"""The one mirrored in y."""


class Channel(NamedTuple):
    """solid (ny, nx): nodes in the cylinder. gap (9, ny, nx): part of a link that lies before the cylinder, where a
    link ends in it. speed: of what comes in. slip: whether fluid slips along the sides, which otherwise move with
    ``speed``. free: whether it comes in with the tangential velocity of the first column. tau: relaxation times of even
    and odd parts. middle, radius: where the cylinder is along x, and its radius."""

    solid: np.ndarray
    gap: Array
    speed: float
    slip: bool
    free: bool
    tau_even: float
    tau_odd: float
    middle: float
    radius: float


def make_channel(
    cells: int, before: float, behind: float, width: float, reynolds: float, speed: float, *, slip: bool,
    free: bool = False,
) -> Channel:  # fmt: skip
    """A cylinder midway between the sides; before, behind, width: in diameters of ``cells`` nodes."""
    nx, ny = round((before + behind) * cells), round(width * cells)
    x, y = np.meshgrid(np.arange(nx) + 0.5 - before * cells, np.arange(ny) + 0.5 - 0.5 * ny)
    radius = 0.5 * cells
    solid = x * x + y * y < radius * radius
    gap = np.ones((9, ny, nx))
    for q in range(1, 9):
        ex, ey = E[q]
        square, along = ex * ex + ey * ey, x * ex + y * ey
        inside = along * along - square * (x * x + y * y - radius * radius)
        part = (-along - np.sqrt(np.maximum(inside, 0.0))) / square
        ends = (x + ex) ** 2 + (y + ey) ** 2 < radius * radius
        gap[q] = np.where(ends & ~solid, part, 1.0)
    tau = 0.5 + 3.0 * speed * cells / reynolds
    return Channel(solid, gap, speed, slip, free, tau, 0.5 + 3.0 / 16.0 / (tau - 0.5), before * cells, radius)


def forces(channel: Channel, steps: int, kick: float = 0.0) -> Array:
    """Force (steps, 2) on the cylinder over rho speed^2 cells / 2 (a drag coefficient but for the diameter); kick:
    velocity of an eddy at the start over ``speed``, which the street grows from."""
    ny, nx = shape = channel.solid.shape
    x, y = np.meshgrid(np.arange(nx) + 0.5 - channel.middle, np.arange(ny) + 0.5 - 0.5 * ny)
    doublet = channel.speed * channel.radius**2 / np.maximum(x * x + y * y, channel.radius**2) ** 2
    ux = channel.speed - doublet * (x * x - y * y)
    uy = -2.0 * doublet * x * y
    # an eddy behind the cylinder; a push of all fluid would sound between the sides for the whole run
    across, along = y / channel.radius, x / channel.radius - 3.0
    eddy = kick * channel.speed * np.exp(-0.5 * (along**2 + across**2))
    ux, uy = ux - eddy * across, uy + eddy * along
    rho = 1.0 + 1.5 * (channel.speed**2 - ux * ux - uy * uy)
    f = np.empty((9, *shape))
    for q in range(9):
        f[q] = _balance(q, rho, ux, uy)
    post = np.empty_like(f)
    out = np.zeros((steps, 2))
    _march(channel.solid, channel.gap, channel.speed, channel.slip, channel.free, channel.tau_even, channel.tau_odd,
           E, WEIGHT, BACK, MIRROR, f, post, out)  # fmt: skip
    return out


def _balance(q: int, rho: Array, ux: Array, uy: Array) -> Array:
    eu = E[q, 0] * ux + E[q, 1] * uy
    return WEIGHT[q] * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * (ux * ux + uy * uy))


@njit(cache=True)
def _equilibrium(e, weight, q, rho, ux, uy):  # type: ignore[no-untyped-def]
    eu = e[q, 0] * ux + e[q, 1] * uy
    return weight[q] * rho * (1.0 + 3.0 * eu + 4.5 * eu * eu - 1.5 * (ux * ux + uy * uy))


@njit(cache=True)
def _march(solid, gap, speed, slip, free, tau_even, tau_odd, e, weight, back, mirror, f, post, out):  # type: ignore[no-untyped-def]
    ny, nx = solid.shape
    own, beyond = np.empty(9), nx - 1
    sideways = np.zeros(ny)  # velocity across in the first column
    leaving = np.zeros((2, ny, 2))  # velocity in the last column and the one before
    for step in range(out.shape[0]):
        for j in range(ny):
            for i in range(nx):
                if solid[j, i]:
                    continue
                rho = ux = uy = 0.0
                for q in range(9):
                    rho += f[q, j, i]
                    ux += e[q, 0] * f[q, j, i]
                    uy += e[q, 1] * f[q, j, i]
                ux, uy = ux / rho, uy / rho
                if i == 0:
                    sideways[j] = uy
                if i >= nx - 2:
                    leaving[beyond - i, j, 0], leaving[beyond - i, j, 1] = ux, uy
                for q in range(9):
                    own[q] = _equilibrium(e, weight, q, rho, ux, uy)
                for q in range(9):
                    o = back[q]
                    even = 0.5 * (f[q, j, i] + f[o, j, i] - own[q] - own[o])
                    odd = 0.5 * (f[q, j, i] - f[o, j, i] - own[q] + own[o])
                    post[q, j, i] = f[q, j, i] - even / tau_even - odd / tau_odd
        rho_out = 1.0 + np.sqrt(3.0) * (leaving[0, :, 0].mean() - speed)
        force_x = force_y = 0.0
        for j in range(ny):
            for i in range(nx):
                if solid[j, i]:
                    continue
                for q in range(9):
                    o = back[q]
                    jj, ii = j - e[q, 1], i - e[q, 0]
                    if ii < 0:
                        across = sideways[j] if free else 0.0
                        f[q, j, i] = post[o, j, i] + 6.0 * weight[q] * (e[q, 0] * speed + e[q, 1] * across)
                    elif ii >= nx:
                        ux = leaving[0, j, 0]
                        uy = leaving[0, j, 1]
                        both = _equilibrium(e, weight, q, rho_out, ux, uy) + _equilibrium(e, weight, o, rho_out, ux, uy)
                        f[q, j, i] = both - post[o, j, i]
                    elif jj < 0 or jj >= ny:
                        if slip:
                            f[q, j, i] = post[mirror[q], j, ii] if not solid[j, ii] else post[o, j, i]
                        else:
                            f[q, j, i] = post[o, j, i] + 6.0 * weight[q] * e[q, 0] * speed
                    elif solid[jj, ii]:
                        d = gap[o, j, i]
                        if d < 0.5:
                            f[q, j, i] = 2.0 * d * post[o, j, i] + (1.0 - 2.0 * d) * post[o, j + e[q, 1], i + e[q, 0]]
                        else:
                            f[q, j, i] = (post[o, j, i] + (2.0 * d - 1.0) * post[q, j, i]) / (2.0 * d)
                        force_x += e[o, 0] * (post[o, j, i] + f[q, j, i])
                        force_y += e[o, 1] * (post[o, j, i] + f[q, j, i])
                    else:
                        f[q, j, i] = post[q, jj, ii]
        scale = 0.5 * speed * speed
        out[step, 0] = force_x / scale
        out[step, 1] = force_y / scale


def strouhal(
    cells: int, *, before: float, behind: float, width: float, free: bool = False, speed: float = 0.05
) -> float:
    """Frequency of the lift at Re 100 in units of speed / diameter, between slip sides."""
    channel = make_channel(cells, before, behind, width, 100.0, speed, slip=True, free=free)
    lift = forces(channel, round(120.0 * cells / speed), kick=0.3)[:, 1]
    lift = lift[len(lift) // 2 :]
    up = np.nonzero((lift[:-1] < 0.0) & (lift[1:] >= 0.0))[0]
    at = up + lift[up] / (lift[up] - lift[up + 1])
    return float((len(at) - 1) / (at[-1] - at[0]) * cells / speed)


def terminal_speed(cells: int, viscosity: float, guess: float, speed: float = 0.02) -> float:
    """Speed [m/s] at which the drag of a cylinder of 10 mm in a channel of 40 mm carries 1000 kg/m3 of excess weight.

    The drag is found at two speeds about the guess, and the balance between them by logarithms.
    """
    diameter, excess, density = 0.01, 1000.0 * 9.8, 1000.0
    weight = excess * 0.25 * np.pi * diameter**2
    rows = []
    for u in (0.95 * guess, 1.05 * guess):
        channel = make_channel(cells, 8.0, 12.0, 4.0, density * u * diameter / viscosity, speed, slip=False)
        drag = forces(channel, round(60.0 * cells / speed))[-200:, 0].mean() / cells
        rows.append((np.log(u), np.log(drag * 0.5 * density * u * u * diameter / weight)))
    (a, fa), (b, fb) = rows
    return -float(np.exp(a - fa * (b - a) / (fb - fa)))


def main(arguments: list[str]) -> None:
    """Print the figures of ``street`` or ``fall``."""
    cells = int(arguments[1]) if len(arguments) > 1 else 20
    figures: dict[str, Any]
    if arguments[0] == "street":
        short: dict[str, Any] = {"before": 2.5, "behind": 15.0, "width": 7.0}
        figures = {"both given": strouhal(cells, **short), "free inlet": strouhal(cells, **short, free=True)}
    else:
        table = {0.5: 0.0693, 0.2: 0.146, 0.1: 0.204}
        figures = {f"mu {mu}": terminal_speed(cells, mu, guess) for mu, guess in table.items()}
    for name, value in figures.items():
        print(f"{name}, {cells} cells per diameter: {value:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:])
