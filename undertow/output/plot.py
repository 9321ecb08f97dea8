"""Curves of a run's ledger as a picture."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from undertow.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#2f6fb3", "#c8502f", "#3f8f57", "#8a5fa8", "#b08a2e", "#4b5563")
_MAX_PANELS = 30
_LOGARITHMIC = ("residual", "divergence_max", "row_before", "row_after", "incompatibility")
"""Quantities whose size, not value, tells something."""


def plot(run_folder: Path | str, out: Path | str | None = None) -> Path:
    """Draw every quantity of ``ledger.csv`` against time; returns the picture (default ``ledger.png`` in the run)."""
    run_folder = Path(run_folder)
    target = Path(out) if out is not None else run_folder / "ledger.png"
    if target.suffix not in (".png", ".svg", ".pdf"):
        raise UserError(f"{target}: a plot is a .png, .svg or .pdf file; change the ending")
    figure = ledger_figure(read_table(run_folder / "ledger.csv"), run_folder.resolve().name)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.tmp")
    figure.savefig(temporary, format=target.suffix[1:], dpi=110)
    os.replace(temporary, target)
    return target


def read_table(path: Path) -> dict[str, list[str]]:
    """A CSV file as columns of text; a last line that is still being written is left out."""
    if not path.is_file():
        raise UserError(f"{path}: no such table; give the folder of a run that has begun")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the table is damaged ({error}); restore it") from None
    if not rows:
        raise UserError(f"{path}: the table is empty")
    header = rows[0]
    for number, row in enumerate(rows[1:-1], start=2):
        if len(row) != len(header):
            raise UserError(
                f"{path}: line {number} has {len(row)} cells and the header {len(header)}; the table is damaged: "
                f"restore it"
            )
    complete = [row for row in rows[1:] if len(row) == len(header)]
    return {name: [row[i] for row in complete] for i, name in enumerate(header)}


def ledger_figure(table: dict[str, list[str]], title: str) -> Figure:
    """Panels of curves: components of a vector share one, forces and torques of each body too."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    numbers = {name: values for name, text in table.items() if (values := _numbers(text)) is not None}
    time_name = next((name for name in numbers if name.split(" [")[0] == "time"), None)
    texts = next((values for name, values in table.items() if name.split(" [")[0] == "time"), [])
    if texts and (time_name is None or not np.isfinite(numbers[time_name]).all()):
        raise UserError(f"{title}: the times of the ledger are not all numbers; it is damaged: restore it")
    if time_name is None or not len(numbers[time_name]):
        raise UserError(f"{title}: the ledger has no steps yet; wait for the first step of the run")
    panels = _panels(numbers)
    columns = min(3, max(1, len(panels)))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.2 * columns, 2.5 * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", color="#111827")
    axes = np.atleast_1d(np.array(figure.subplots(rows, columns, squeeze=False))).reshape(-1)
    for ax, (name, members) in zip(axes, panels.items(), strict=False):
        _draw_panel(ax, name, members, numbers, numbers[time_name])
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(panels) - columns) : len(panels)]:
        ax.set_xlabel(time_name, fontsize=8)
    return figure


def _draw_panel(ax: Axes, name: str, members: list[str], numbers: dict[str, np.ndarray], time: np.ndarray) -> None:
    logarithmic = name.split(" [")[0] in _LOGARITHMIC and any((numbers[m] > 0).any() for m in members)
    for member, color in zip(members, _COLORS, strict=False):
        values = numbers[member]
        if logarithmic:
            values = np.where(values > 0, values, np.nan)
        label = member.split(" [")[0].rsplit("_", 1)[-1]
        ax.plot(time, values, color=color, lw=1.2, label=label, marker="." if len(time) == 1 else None)
    if logarithmic:
        ax.set_yscale("log")
    else:
        ax.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4))
    if len(members) > 1:
        ax.legend(fontsize=7, frameon=False, ncols=3, loc="best", handlelength=1.2)
    ax.set_title(name, fontsize=9, loc="left", color="#374151")
    ax.tick_params(which="both", labelsize=7, colors="#4b5563")
    ax.yaxis.get_offset_text().set_fontsize(7)
    ax.grid(True, color="#e5e7eb", lw=0.6)
    ax.margins(x=0.01)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _panels(numbers: dict[str, np.ndarray]) -> dict[str, list[str]]:
    """Columns that share a panel: ``momentum_x [kg m/s]``, ``_y``, ``_z`` become ``momentum [kg m/s]``.

    Components that stay zero (all z components in 2D) are left out.
    """
    panels: dict[str, list[str]] = {}
    for name, values in numbers.items():
        quantity, bracket, unit = name.partition(" [")
        component = quantity[-2:] in ("_x", "_y", "_z")
        if quantity in ("time", "step", "frame") or (component and not values.any()):
            continue
        panels.setdefault((quantity[:-2] if component else quantity) + bracket + unit, []).append(name)
    return dict(list(panels.items())[:_MAX_PANELS])


def _numbers(text: list[str]) -> np.ndarray | None:
    """The column as numbers, or None when it holds words."""
    try:
        return np.array([float(x) if x else np.nan for x in text])
    except ValueError:
        return None
