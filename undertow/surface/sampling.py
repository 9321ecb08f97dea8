"""Values of fields at any point, for the kernels of this package.

Kernels work in *index coordinates*, s = (x - lower) / dx + GHOSTS: the lower face of padded cell i lies at s = i, its
centre at s = i + 1/2. Points are kept inside the domain, so that all stencils end in the ghosts, which must be filled.
Fields come flattened; indices are unsigned, for which Numba leaves out its test for negative ones. In 2D the z
coordinate is the mid-plane, and only that plane is read.
"""

from __future__ import annotations

import numpy as np

from undertow.grid import GHOSTS
from undertow.grid.jitting import borrowing, borrowing_contracting, helper, inlined_contracting


@helper
def _confine(s, n):  # type: ignore[no-untyped-def]
    """Index coordinate s kept inside the n cells of the domain; NaN goes to the low end."""
    s = s if s > GHOSTS else np.float64(GHOSTS)
    return s if s < GHOSTS + n else np.float64(GHOSTS + n)


@helper
def _confine_beyond(s, n, reach):  # type: ignore[no-untyped-def]
    """As ``_confine``, to ``reach`` cells beyond the ends; in 2D the mid-plane is the whole of z."""
    s = s if s > GHOSTS - reach else GHOSTS - reach
    return s if s < GHOSTS + n + reach else GHOSTS + n + reach


@helper
def _locate(spec, x, y, z):  # type: ignore[no-untyped-def]
    """Index coordinates of the point (x, y, z) [m], kept inside the domain."""
    inv = 1.0 / spec.dx
    sx = _confine((x - spec.x0) * inv + GHOSTS, spec.nx)
    sy = _confine((y - spec.y0) * inv + GHOSTS, spec.ny)
    sz = _confine((z - spec.z0) * inv + GHOSTS, spec.nz) if spec.dimensions == 3 else GHOSTS + 0.5
    return sx, sy, sz


@helper
def _strides(spec):  # type: ignore[no-untyped-def]
    """Values per padded row, per padded plane, and the stride of stencils along z (0 in 2D: the plane alone)."""
    row = np.uint64(spec.nx + 2 * GHOSTS)
    plane = row * np.uint64(spec.ny + 2 * GHOSTS)
    return row, plane, plane if spec.dimensions == 3 else np.uint64(0)


@inlined_contracting
def _blend(q, p, row, over, fx, fy, fz):  # type: ignore[no-untyped-def]
    """Trilinear blend of the eight values from index p on."""
    one = np.uint64(1)
    a = q[p]
    b = q[p + row]
    a += fx * (q[p + one] - a)
    b += fx * (q[p + row + one] - b)
    a += fy * (b - a)
    r = p + over
    c = q[r]
    d = q[r + row]
    c += fx * (q[r + one] - c)
    d += fx * (q[r + row + one] - d)
    c += fy * (d - c)
    return a + fz * (c - a)


# forced: LLVM finds the function too large, and then passing its arguments costs as much as its work
@inlined_contracting
def _velocity_at(spec, u, x, y, z):  # type: ignore[no-untyped-def]
    """Face velocity u (flat) at index coordinates (x, y, z), trilinear in each component; w = 0 in 2D."""
    row, plane, over = _strides(spec)
    size = plane * np.uint64(spec.nz + 2 * GHOSTS)
    xc = x - 0.5
    yc = y - 0.5
    zc = z - 0.5
    i = np.int64(x)
    j = np.int64(y)
    k = np.int64(z)
    ic = np.int64(xc)
    jc = np.int64(yc)
    kc = np.int64(zc)
    base = np.uint64(kc) * plane
    vx = _blend(u, base + np.uint64(jc) * row + np.uint64(i), row, over, x - i, yc - jc, zc - kc)
    vy = _blend(u, size + base + np.uint64(j) * row + np.uint64(ic), row, over, xc - ic, y - j, zc - kc)
    vz = 0.0
    if spec.dimensions == 3:
        base = size + size + np.uint64(k) * plane
        vz = _blend(u, base + np.uint64(jc) * row + np.uint64(ic), row, over, xc - ic, yc - jc, z - k)
    return vx, vy, vz


@borrowing_contracting
def _centred_at(spec, q, x, y, z):  # type: ignore[no-untyped-def]
    """Cell field q (flat) at index coordinates (x, y, z), trilinear."""
    row, plane, over = _strides(spec)
    xc = x - 0.5
    yc = y - 0.5
    zc = z - 0.5
    i = np.int64(xc)
    j = np.int64(yc)
    k = np.int64(zc)
    p = np.uint64(k) * plane + np.uint64(j) * row + np.uint64(i)
    return _blend(q, p, row, over, xc - i, yc - j, zc - k)


@borrowing
def _gradient_at(spec, q, x, y, z):  # type: ignore[no-untyped-def]
    """dx grad q at index coordinates (x, y, z): central differences of the trilinear interpolant over one cell."""
    gx = _centred_at(spec, q, _confine(x + 0.5, spec.nx), y, z) - _centred_at(spec, q, _confine(x - 0.5, spec.nx), y, z)
    gy = _centred_at(spec, q, x, _confine(y + 0.5, spec.ny), z) - _centred_at(spec, q, x, _confine(y - 0.5, spec.ny), z)
    gz = 0.0
    if spec.dimensions == 3:
        gz = _centred_at(spec, q, x, y, _confine(z + 0.5, spec.nz))
        gz -= _centred_at(spec, q, x, y, _confine(z - 0.5, spec.nz))
    return gx, gy, gz


@helper
def _cubic_weights(f):  # type: ignore[no-untyped-def]
    """Weights of the values at -1, 0, 1, 2 in the cubic Lagrange polynomial at f."""
    a = f + 1.0
    b = f - 1.0
    c = f - 2.0
    return -f * b * c / 6.0, 0.5 * a * b * c, -0.5 * a * f * c, a * f * b / 6.0


@helper
def _cubic_slopes(f):  # type: ignore[no-untyped-def]
    """Derivatives of ``_cubic_weights``."""
    g = f * f
    return -0.5 * g + f - 1.0 / 3.0, 1.5 * g - 2.0 * f - 0.5, -1.5 * g + f + 1.0, 0.5 * g - 1.0 / 6.0


@inlined_contracting
def _sum_plane(q, p, row, wy):  # type: ignore[no-untyped-def]
    """Sums over four rows from index p on, weighted by wy, of each of four neighbours in line: one vector."""
    one = np.uint64(1)
    two = np.uint64(2)
    three = np.uint64(3)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for w in wy:
        a += w * q[p]
        b += w * q[p + one]
        c += w * q[p + two]
        d += w * q[p + three]
        p += row
    return a, b, c, d


@inlined_contracting
def _sum_line(w, a):  # type: ignore[no-untyped-def]
    return (w[0] * a[0] + w[1] * a[1]) + (w[2] * a[2] + w[3] * a[3])


@borrowing_contracting
def _cubic_at(spec, q, x, y, z):  # type: ignore[no-untyped-def]
    """Cell field q (flat) at index coordinates (x, y, z), the product of cubic Lagrange polynomials."""
    row, plane, _ = _strides(spec)
    i = np.int64(x - 0.5)
    j = np.int64(y - 0.5)
    k = np.int64(z - 0.5)
    wx = _cubic_weights(x - 0.5 - i)
    wy = _cubic_weights(y - 0.5 - j)
    p = np.uint64(k) * plane + np.uint64(j - 1) * row + np.uint64(i - 1)
    if spec.dimensions == 2:
        return _sum_line(wx, _sum_plane(q, p, row, wy))
    wz = _cubic_weights(z - 0.5 - k)
    p -= plane
    value = 0.0
    for w in wz:
        value += w * _sum_line(wx, _sum_plane(q, p, row, wy))
        p += plane
    return value


@borrowing_contracting
def _cubic_gradient_at(spec, q, x, y, z):  # type: ignore[no-untyped-def]
    """Value and gradient per cell of ``_cubic_at``."""
    row, plane, _ = _strides(spec)
    i = np.int64(x - 0.5)
    j = np.int64(y - 0.5)
    k = np.int64(z - 0.5)
    wx = _cubic_weights(x - 0.5 - i)
    wy = _cubic_weights(y - 0.5 - j)
    dx = _cubic_slopes(x - 0.5 - i)
    dy = _cubic_slopes(y - 0.5 - j)
    p = np.uint64(k) * plane + np.uint64(j - 1) * row + np.uint64(i - 1)
    if spec.dimensions == 2:
        line = _sum_plane(q, p, row, wy)
        return _sum_line(wx, line), _sum_line(dx, line), _sum_line(wx, _sum_plane(q, p, row, dy)), 0.0
    wz = _cubic_weights(z - 0.5 - k)
    dz = _cubic_slopes(z - 0.5 - k)
    p -= plane
    value, gx, gy, gz = 0.0, 0.0, 0.0, 0.0
    for c in range(4):
        line = _sum_plane(q, p, row, wy)
        along = _sum_line(wx, line)
        value += wz[c] * along
        gz += dz[c] * along
        gx += wz[c] * _sum_line(dx, line)
        gy += wz[c] * _sum_line(wx, _sum_plane(q, p, row, dy))
        p += plane
    return value, gx, gy, gz


@borrowing
def _cubic_slope_at_centre(q, p, stride):  # type: ignore[no-untyped-def]
    """The derivative of the cubic at the second of its four values, that of index p."""
    return q[p + stride] - 0.5 * q[p] - q[p - stride] / 3.0 - q[p + stride + stride] / 6.0


@borrowing
def _cubic_gradient_at_centre(spec, q, x, y, z):  # type: ignore[no-untyped-def]
    """``_cubic_gradient_at`` the centre of a cell: one value along each axis instead of all."""
    row, plane, _ = _strides(spec)
    p = np.uint64(np.int64(z)) * plane + np.uint64(np.int64(y)) * row + np.uint64(np.int64(x))
    gx = _cubic_slope_at_centre(q, p, np.uint64(1))
    gy = _cubic_slope_at_centre(q, p, row)
    gz = _cubic_slope_at_centre(q, p, plane) if spec.dimensions == 3 else 0.0
    return q[p], gx, gy, gz


@borrowing
def _cell_at(spec, q, x, y, z):  # type: ignore[no-untyped-def]
    """Value of the cell field q (flat) in the cell that holds (x, y, z): one read instead of eight."""
    row, plane, _ = _strides(spec)
    return q[np.uint64(np.int64(z)) * plane + np.uint64(np.int64(y)) * row + np.uint64(np.int64(x))]


@inlined_contracting
def _trace(spec, u, x, y, z, c, u1, v1, w1):  # type: ignore[no-untyped-def]
    """Where (x, y, z) is after dt in the frozen velocity u, in index coordinates, c = dt / dx; not confined.

    The midpoint rule, of second order; (u1, v1, w1): the velocity at (x, y, z). A negative c traces back.
    """
    h = 0.5 * c
    xs = _confine(x + h * u1, spec.nx)
    ys = _confine(y + h * v1, spec.ny)
    zs = _confine(z + h * w1, spec.nz)
    u2, v2, w2 = _velocity_at(spec, u, xs, ys, zs)
    return x + c * u2, y + c * v2, z + c * w2
