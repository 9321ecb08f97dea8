"""One page about several runs of one scene: pictures side by side, ledgers over each other, time per step."""

from __future__ import annotations

import html
import io
import json
import os
from pathlib import Path

import numpy as np

from undertow.output.plot import _COLORS, _draw_panel, _numbers, read_table
from undertow.output.report import _STYLE, _inline_png, _section

_STYLE_PAGE = """
.side { display: flex; gap: 1rem; flex-wrap: wrap; } .side figure { margin: 0; flex: 1 1 320px; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
"""


def write_comparison(folder: Path, runs: list[Path]) -> Path:
    """Write ``compare.html`` of run folders into ``folder``; each run is named by its folder."""
    names = [run.name for run in runs]
    scene = (runs[0] / "scene.toml").read_text()
    title = html.escape(folder.resolve().name)
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="lead">{html.escape(", ".join(names))}</p>',
        _pictures(runs),
        _section("Time per step", _timing_table(runs)),
        _section("Ledgers", _inline_png(_ledgers(runs), "ledgers of the runs over each other")),
        _bodies(runs),
        _section(f"Scene of {html.escape(names[0])}", f"<pre>{html.escape(scene)}</pre>"),
    ]
    page = (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}{_STYLE_PAGE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )
    target = folder / "compare.html"
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.write_text(page, encoding="utf-8")
    os.replace(temporary, target)
    return target


def _pictures(runs: list[Path]) -> str:
    figures = [
        f'<figure><figcaption>{html.escape(run.name)}</figcaption><a href="{html.escape(run.name)}/report.html">'
        f"{_inline_png((run / 'preview.png').read_bytes(), f'last frame of {run.name}')}</a></figure>"
        for run in runs
        if (run / "preview.png").is_file()
    ]
    return f'<div class="side">{"".join(figures)}</div>'


def _timing_table(runs: list[Path]) -> str:
    """Steps, seconds per step (the median; kernels are compiled before), iterations, and how the run ended."""
    head = "".join(f"<th>{c}</th>" for c in ("coupling", "steps", "seconds per step", "largest iterations", "status"))
    rows = ""
    for run in runs:
        seconds = np.array([float(s) for s in read_table(run / "timing.csv")["step_seconds [s]"]])
        ledger = read_table(run / "ledger.csv")
        iterations = max((int(float(n)) for n in ledger.get("iterations", ["0"])), default=0)
        status = json.loads((run / "run.json").read_text()).get("status", "")
        median = f"{np.median(seconds):.4g}" if len(seconds) else ""
        cells = (run.name, str(len(seconds)), median, str(iterations), str(status))
        rows += "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"
    return f"<table><tr>{head}</tr>{rows}</table>"


def _ledgers(runs: list[Path]) -> bytes:
    """Every quantity that all ledgers have and that is not zero throughout."""
    tables = []
    for run in runs:
        table = read_table(run / "ledger.csv")
        tables.append({name: values for name, text in table.items() if (values := _numbers(text)) is not None})
    common = [name for name in tables[0] if all(name in table for table in tables)]
    time = next(name for name in common if name.split(" [")[0] == "time")
    skipped = ("time", "step", "frame", "time_step")
    shown = [n for n in common if n.split(" [")[0] not in skipped and any(np.nan_to_num(t[n]).any() for t in tables)]
    panels = {
        name: [(run.name, table[time], table[name]) for run, table in zip(runs, tables, strict=True)] for name in shown
    }
    return _draw(panels, time)


def _bodies(runs: list[Path]) -> str:
    """Height of every body over time."""
    panels: dict[str, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    for run in runs:
        if not (run / "bodies.csv").is_file():
            continue
        table = read_table(run / "bodies.csv")
        names = np.array(table.get("body", []))
        time, height = (np.array([float(x) for x in table[c]]) for c in ("time [s]", "position_y [m]"))
        for name in dict.fromkeys(names.tolist()):
            own = names == name
            panels.setdefault(f"height of {name} [m]", []).append((run.name, time[own], height[own]))
    if not panels:
        return ""
    return _section("Bodies", _inline_png(_draw(panels, "time [s]"), "heights of the bodies"))


def _draw(panels: dict[str, list[tuple[str, np.ndarray, np.ndarray]]], time: str) -> bytes:
    """PNG of panels, each with one curve (run, times, values) per run."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(3, max(1, len(panels)))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.2 * columns, 2.5 * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.array(figure.subplots(rows, columns, squeeze=False)).reshape(-1)
    for ax, (name, curves) in zip(axes, panels.items(), strict=False):
        for (run, times, values), color in zip(curves, _COLORS, strict=False):
            _draw_panel(ax, name, [run], {run: values}, times)
            ax.lines[-1].set_color(color)
        ax.legend(fontsize=7, frameon=False, labels=[run for run, _, _ in curves])
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[max(0, len(panels) - columns) : len(panels)]:
        ax.set_xlabel(time, fontsize=8)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=90)
    return data.getvalue()
