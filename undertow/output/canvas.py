"""Slices of a field as pictures: upsampling, colors, sections of solids, captions; NumPy and Pillow only."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from undertow.output.fields import UNITS, is_signed, middle_slice, refine
from undertow.output.frames import BodyFrame, FrameData
from undertow.output.particles import paint_particles

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_PAPER = np.array([17, 20, 26], dtype=np.uint8)
_WATER = np.array([96.0, 168.0, 214.0])
_DEEP = np.array([34.0, 84.0, 138.0])
_INK = (226, 230, 236)
_FAINT = (150, 158, 170)
_DARK_INK = (10, 12, 16)
_WALL = np.array([104, 110, 120], dtype=np.uint8)
_READABLE = 4.5
"""Least contrast of text with its ground."""
Walls = tuple[bool, bool, bool, bool]
"""Whether the sides x_low, x_high, y_low and y_high of the domain are walls."""

_SAMPLES = 4
"""Samples per pixel and direction when solids are filled."""


def slice_image(
    frame: FrameData,
    values: np.ndarray,
    name: str,
    limits: tuple[float, float],
    width: int,
    title: str,
    walls: Walls | None = None,
) -> np.ndarray:
    """A slice (ny, nx) in the x-y plane with the solids it cuts, walls, scale, a caption and a color bar; 8-bit RGB.

    width: longer side of the slice [pixels].
    """
    picture = paint_slice(frame, values, name, limits, width)
    grid = frame.need_grid()
    picture = add_walls(picture, grid.upper[0] - grid.lower[0], walls)
    return _add_caption(picture, title, frame.time, name, limits, frame.dimensions)


def paint_slice(frame: FrameData, values: np.ndarray, name: str, limits: tuple[float, float], size: int) -> np.ndarray:
    """A slice (ny, nx) in the middle x-y plane with the solids it cuts; 8-bit RGB, y up."""
    grid = frame.need_grid()
    nx, ny, nz = grid.cells
    width, height = max(2, round(size * min(1.0, nx / ny))), max(2, round(size * min(1.0, ny / nx)))
    picture = colorize(_upsample(values, width, height), name, limits, grid.dimensions)
    z = grid.lower[2] + 0.5 * grid.dx * nz
    for body in frame.bodies:
        _paint_solid(picture, body, grid.lower[:2], grid.upper[:2], z)
    return picture


def water_image(frame: FrameData, width: int, title: str, walls: Walls | None = None) -> np.ndarray:
    """The water of a 2D frame, or of the middle plane in 3D, with the solids, title and time; 8-bit RGB, y up."""
    grid = frame.need_grid()
    nx, ny, nz = grid.cells
    columns, rows = max(2, round(width * min(1.0, nx / ny))), max(2, round(width * min(1.0, ny / nx)))
    phi = _upsample(middle_slice(frame.cell_fields["level_set"]), columns, rows)
    cover = np.clip(0.5 - phi * (columns / (nx * grid.dx)), 0.0, 1.0)[..., None]
    # deeper water is darker
    deep = np.clip(-phi / (0.3 * ny * grid.dx), 0.0, 1.0)[..., None]
    color = _WATER + (_DEEP - _WATER) * deep
    picture = np.asarray(_PAPER + (color - _PAPER) * cover, dtype=np.uint8)
    z = grid.lower[2] + 0.5 * grid.dx * nz
    for body in frame.bodies:
        _paint_solid(picture, body, grid.lower[:2], grid.upper[:2], z)
    picture = add_walls(picture, grid.upper[0] - grid.lower[0], walls)
    return _add_key(picture, title, frame, [("water", tuple(_WATER))])


def particle_image(
    frame: FrameData, name: str, limits: tuple[float, float], width: int, title: str, walls: Walls | None = None
) -> np.ndarray:
    """The particles of a frame by ``name``, seen along z, with the solids, a caption and a color bar; 8-bit RGB."""
    particles = frame.particles
    assert particles is not None
    wide, high = (particles.upper - particles.lower)[:2]
    columns, rows = max(2, round(width * min(1.0, wide / high))), max(2, round(width * min(1.0, high / wide)))
    picture = np.empty((rows, columns, 3), dtype=np.uint8)
    picture[:] = _PAPER
    shown = particles.values(name)
    paint_particles(picture, particles, colorize(shown, name, limits, frame.dimensions))
    middle = 0.5 * float(particles.lower[2] + particles.upper[2])
    for body in frame.bodies:
        _paint_solid(picture, body, tuple(particles.lower[:2]), tuple(particles.upper[:2]), middle)
    picture = add_walls(picture, float(wide), walls)
    return _add_caption(picture, title, frame.time, name, limits, frame.dimensions)


def section_image(frame: FrameData, lower: np.ndarray, upper: np.ndarray, width: int, title: str) -> np.ndarray:
    """The solids of a 2D frame in the box ``lower`` to ``upper`` [m], with title and time; 8-bit RGB, y up."""
    wide, high = upper[:2] - lower[:2]
    columns, rows = max(2, round(width * min(1.0, wide / high))), max(2, round(width * min(1.0, high / wide)))
    picture = np.empty((rows, columns, 3), dtype=np.uint8)
    picture[:] = _PAPER
    for body in frame.bodies:
        _paint_solid(picture, body, tuple(lower[:2]), tuple(upper[:2]), 0.0)
    return _add_key(add_walls(picture, float(wide), None), title, frame, [])


def add_walls(picture: np.ndarray, wide: float, walls: Walls | None) -> np.ndarray:
    """A picture of the x-y plane with the walls of the domain around it and a bar of a round length.

    wide: what the picture shows from left to right [m]. walls: whether the sides x_low, x_high, y_low and y_high are
    walls; None: nothing is known of them and no margin is added.
    """
    from PIL import Image, ImageDraw

    height, width = picture.shape[:2]
    margin = 0
    if walls is not None:
        margin = max(4, width // 80)
        left, right, bottom, top = walls
        framed = np.empty((height + 2 * margin, width + 2 * margin, 3), dtype=np.uint8)
        framed[:] = _PAPER
        # corners belong to the floor and the lid
        if bottom:
            framed[height + margin :] = _WALL
        if top:
            framed[:margin] = _WALL
        if left:
            framed[margin : height + margin, :margin] = _WALL
        if right:
            framed[margin : height + margin, width + margin :] = _WALL
        framed[margin : height + margin, margin : width + margin] = picture
        picture = framed
    length = _round_length(0.22 * wide)
    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)
    size = max(10, width // 66)
    x, y = margin + size, picture.shape[0] - margin - round(0.9 * size)
    end = x + round(length / wide * width)
    ground = picture[y - size : y + 3, x : end + 1].reshape(-1, 3)
    ink = max((_INK, _DARK_INK), key=lambda ink: float(np.median(contrast(ground, np.array(ink)))))
    pen.rectangle((x - 1, y - 1, end + 1, y + max(2, size // 4) + 1), fill=_DARK_INK if ink == _INK else _INK)
    pen.rectangle((x, y, end, y + max(2, size // 4)), fill=ink)
    _write_text(pen, picture, (0.5 * (x + end), y - 0.4 * size), _length_text(length), size, "ms")
    return np.array(image)


def _round_length(length: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to a length."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(n * power for n in (1.0, 2.0, 5.0) if n * power <= length * (1.0 + 1e-9))


def _length_text(length: float) -> str:
    """A length with a unit that keeps it between 1 and 1000 where there is one."""
    for unit, size in (("km", 1e3), ("m", 1.0), ("cm", 1e-2), ("mm", 1e-3), ("um", 1e-6)):
        if length >= 0.999 * size:
            return f"{length / size:g} {unit}"
    return f"{length:g} m"


def _add_key(
    picture: np.ndarray, title: str, frame: FrameData, shown: list[tuple[str, tuple[float, ...]]]
) -> np.ndarray:
    """A strip below the picture: title and time on the left, what the colors stand for on the right, as far as there
    is room."""
    from PIL import Image, ImageDraw

    height, width = picture.shape[:2]
    size = max(11, width // 62)
    strip, margin = round(2.4 * size), round(0.8 * size)
    canvas = np.empty((height + strip, width, 3), dtype=np.uint8)
    canvas[:height], canvas[height:] = picture, _PAPER
    image = Image.fromarray(canvas)
    pen, font = ImageDraw.Draw(image), _font(size)
    middle = height + strip / 2
    caption = f"t = {frame.time:.2f} s"
    pen.text((margin, middle), title, font=font, fill=_INK, anchor="lm")
    pen.text((margin + font.getlength(title + "   "), middle), caption, font=font, fill=_FAINT, anchor="lm")
    taken = margin + font.getlength(f"{title}   {caption}   ")
    seen = {tuple(round(255 * c) for c in body.color): body.name for body in reversed(frame.bodies)}
    entries = shown + [(name, color) for color, name in reversed(seen.items())]
    x = float(width - margin)
    for name, color in reversed(entries):
        x -= font.getlength(name)
        if x - 1.8 * size < taken:
            break
        pen.text((x, middle), name, font=font, fill=_INK, anchor="lm")
        x -= 1.3 * size
        fill = tuple(int(c) for c in color)
        pen.rectangle((x, middle - 0.4 * size, x + 0.8 * size, middle + 0.4 * size), fill=fill)
        x -= size
    return np.array(image)


def color_table(name: str, dimensions: int) -> np.ndarray:
    """The 256 colors (256, 3), 8-bit, a field is drawn in."""
    from matplotlib import colormaps

    if name == "smoke":
        ramp = np.linspace(0.0, 1.0, 256)[:, None]
        return np.asarray(_PAPER + (np.array([244, 241, 236]) - _PAPER) * ramp**0.8, dtype=np.uint8)
    kind = "RdBu_r" if is_signed(name, dimensions) else ("inferno" if name == "temperature" else "viridis")
    return np.asarray(colormaps[kind](np.linspace(0, 1, 256))[:, :3] * 255 + 0.5, dtype=np.uint8)


def stamp(picture: np.ndarray, title: str, time: float) -> np.ndarray:
    """Title and time in the lower corners of a picture, dark on light ground and light on dark ground."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(picture)
    size = max(11, picture.shape[1] // 46)
    margin = round(0.8 * size)
    y = picture.shape[0] - margin - size
    pen = ImageDraw.Draw(image)
    _write_text(pen, picture, (margin, y), title, size, "la")
    _write_text(pen, picture, (picture.shape[1] - margin, y), f"t = {time:.2f} s", size, "ra")
    return np.array(image)


def luminance(color: np.ndarray) -> np.ndarray:
    """Relative luminance of 8-bit sRGB (..., 3), 0 to 1 (WCAG 2.1)."""
    share = np.asarray(color, dtype=float) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Contrast of two colors, (L1 + 0.05) / (L2 + 0.05) with the lighter one above (WCAG 2.1); text needs 4.5."""
    a, b = luminance(first), luminance(second)
    return np.asarray((np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05))


def _write_text(
    pen: ImageDraw, picture: np.ndarray, place: tuple[float, float], text: str, size: int, anchor: str
) -> None:
    """Text in the ink that stands out more from the ground; a rim of the other one where the ground is uneven."""
    font = _font(size)
    left, top, right, bottom = (round(v) for v in pen.textbbox(place, text, font=font, anchor=anchor))
    ground = picture[max(top, 0) : bottom + 1, max(left, 0) : right + 1].reshape(-1, 3)
    inks = sorted((_INK, _DARK_INK), key=lambda ink: -float(np.median(contrast(ground, np.array(ink)))))
    uneven = float(np.quantile(contrast(ground, np.array(inks[0])), 0.02)) < _READABLE
    pen.text(
        place, text, font=font, fill=inks[0], anchor=anchor,
        stroke_width=max(1, size // 9) if uneven else 0, stroke_fill=inks[1],
    )  # fmt: skip


def even(picture: np.ndarray) -> np.ndarray:
    """The picture with even height and width (films need them), the last row or column repeated."""
    rows, columns = picture.shape[0] % 2, picture.shape[1] % 2
    return np.ascontiguousarray(np.pad(picture, ((0, rows), (0, columns), (0, 0)), mode="edge"))


def section_segments(body: BodyFrame, z: float) -> np.ndarray:
    """Segments (k, 2, 2) in x-y where the surface of a body crosses the plane at height z [m]."""
    corners = body.vertices[body.triangles].astype(float)
    height = corners[..., 2] - z
    height[height == 0.0] = 1e-12  # a vertex on the plane counts as above it, so that every outline closes
    above = height > 0.0
    crossing = above.any(axis=1) & ~above.all(axis=1)
    corners, height, above = corners[crossing], height[crossing], above[crossing]
    # the corner alone on its side of the plane first: both cut edges start there
    lone = np.where(above.sum(axis=1) == 1, above.argmax(axis=1), (~above).argmax(axis=1))
    rows = np.arange(len(corners))
    ends = []
    for step in (1, 2):
        other = (lone + step) % 3
        h0, h1 = height[rows, lone], height[rows, other]
        s = (h0 / (h0 - h1))[:, None]
        ends.append(corners[rows, lone, :2] * (1 - s) + corners[rows, other, :2] * s)
    return np.stack(ends, axis=1)


def coverage(segments: np.ndarray, width: int, height: int) -> np.ndarray:
    """Share of each pixel inside the closed outlines (even-odd rule). segments (k, 2, 2) in pixels, (column, row)."""
    fine = np.zeros((height * _SAMPLES, width * _SAMPLES + 1), dtype=np.int32)
    scaled = segments * _SAMPLES
    rows = np.arange(height * _SAMPLES) + 0.5
    for (x0, y0), (x1, y1) in scaled:
        first, last = np.searchsorted(rows, sorted((y0, y1)))
        if first == last:
            continue
        cut = x0 + (rows[first:last] - y0) * ((x1 - x0) / (y1 - y0))
        column = np.clip(np.ceil(cut - 0.5), 0, width * _SAMPLES).astype(int)
        fine[np.arange(first, last), column] += 1  # one crossing per row: no index repeats
    inside = (np.cumsum(fine, axis=1)[:, :-1] % 2).astype(np.float32)
    return np.asarray(inside.reshape(height, _SAMPLES, width, _SAMPLES).mean(axis=(1, 3)))


def _upsample(values: np.ndarray, width: int, height: int) -> np.ndarray:
    """Smooth without overshoot (no false signs beside a sharp layer); rows turned so that y points up."""
    from PIL import Image

    fine = np.asarray(values[::-1], dtype=np.float32)
    while fine.shape[1] < width and fine.shape[1] < 4 * values.shape[1]:
        fine = refine(fine)
    resized = Image.fromarray(np.ascontiguousarray(fine)).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(resized)


def colorize(values: np.ndarray, name: str, limits: tuple[float, float], dimensions: int) -> np.ndarray:
    """Values in the colors of a field between its limits."""
    low, high = limits
    index = np.clip((values - low) * (255.0 / max(high - low, 1e-30)) + 0.5, 0, 255).astype(np.uint8)
    return color_table(name, dimensions)[index]


def _paint_solid(
    picture: np.ndarray, body: BodyFrame, lower: tuple[float, ...], upper: tuple[float, ...], z: float
) -> None:
    """Fill the section of a solid with its color and draw its outline darker."""
    height, width = picture.shape[:2]
    segments = section_segments(body, z)
    if len(segments) == 0:
        return
    scale = np.array([width / (upper[0] - lower[0]), height / (upper[1] - lower[1])])
    pixels = (segments - np.array(lower)) * scale
    pixels[..., 1] = height - pixels[..., 1]
    fill = coverage(pixels, width, height)[..., None]
    middle = 0.5 * (pixels.reshape(-1, 2).min(axis=0) + pixels.reshape(-1, 2).max(axis=0))
    extent = max(float(np.ptp(pixels.reshape(-1, 2), axis=0).max()), 1.0)
    inner = coverage(middle + (pixels - middle) * (1.0 - 4.0 * width / 960.0 / extent), width, height)[..., None]
    color = 255.0 * np.asarray(body.color)
    blended = picture * (1.0 - fill) + fill * (0.45 * color * (1.0 - inner) + color * inner)
    picture[...] = np.asarray(blended + 0.5, dtype=np.uint8)


def _add_caption(
    picture: np.ndarray, title: str, time: float, name: str, limits: tuple[float, float], dimensions: int
) -> np.ndarray:
    """A strip below the picture: title and time on the left, the color bar on the right; one below the other where the
    picture is too narrow for that."""
    from PIL import Image, ImageDraw

    height, width = picture.shape[:2]
    size = max(11, width // 62)
    margin, unit = round(0.8 * size), UNITS.get(name, "")
    caption, label = f"t = {time:.2f} s", f"{name} [{unit}]" if unit else name
    low, high = (_number(x) for x in limits)
    font = _font(size)
    bar_width, bar_height = width // 5, max(6, round(0.7 * size))
    left = round(width - margin - font.getlength(high) - 0.6 * size) - bar_width
    end = left - 1.8 * size - font.getlength(low)
    narrow = font.getlength(f"{title}   {caption}") >= end - font.getlength(label) - 2 * margin
    line = round(1.5 * size)
    strip = 4 * line + margin if narrow else round(2.4 * size)
    middle = [height + margin // 2 + round((k + 0.5) * line) for k in range(4)] if narrow else [height + strip / 2] * 4
    canvas = np.empty((height + strip, width, 3), dtype=np.uint8)
    canvas[:height], canvas[height:] = picture, _PAPER
    top = round(middle[3] - 0.5 * bar_height)
    ramp = color_table(name, dimensions)[np.linspace(0, 255, bar_width).astype(int)]
    canvas[top : top + bar_height, left : left + bar_width] = ramp
    image = Image.fromarray(canvas)
    pen = ImageDraw.Draw(image)
    pen.text((width - margin, middle[3]), high, font=font, fill=_INK, anchor="rm")
    pen.text((left - 0.6 * size, middle[3]), low, font=font, fill=_INK, anchor="rm")
    start = (margin, middle[2], "lm") if narrow else (end, middle[2], "rm")
    pen.text(start[:2], label, font=font, fill=_FAINT, anchor=start[2])
    shrink = min(1.0, (width - 2 * margin) / font.getlength(title)) if title else 1.0
    pen.text((margin, middle[0]), title, font=_font(max(6, int(size * shrink))), fill=_INK, anchor="lm")
    beside = 0.0 if narrow else font.getlength(title + "   ")
    pen.text((margin + beside, middle[1]), caption, font=font, fill=_FAINT, anchor="lm")
    return np.array(image)


def _number(value: float) -> str:
    """Two significant digits, plain where that is short."""
    if value == 0.0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        digits = max(0, 1 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}"
    return f"{value:.1e}"


@cache
def _font(size: int) -> FreeTypeFont:
    """DejaVu Sans, which Matplotlib carries."""
    from pathlib import Path

    from matplotlib import get_data_path
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), size)
