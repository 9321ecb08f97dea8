"""One page about a run: picture, ledger, bodies, scene, machine. A single file that needs no network."""

from __future__ import annotations

import base64
import html
import io
import json
import os
from pathlib import Path
from typing import Any

from undertow.errors import UserError
from undertow.output.plot import ledger_figure, read_table
from undertow.output.render import read_scene

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; background: #fff; max-width: 1100px; margin: 2rem auto;
       padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.lead { color: #6b7280; margin-top: .2rem; }
img { max-width: 100%; border-radius: 6px; } video { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; } .wide { overflow-x: auto; }
th, td { text-align: right; padding: .2rem .7rem; border-bottom: 1px solid #e5e7eb; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } td.text { text-align: left; white-space: normal; }
pre { background: #f3f4f6; padding: .8rem; border-radius: 6px; overflow-x: auto; font-size: 12px; }
.completed, .done, .finished { color: #15803d; } .failed, .stopped { color: #b91c1c; }
"""


def write_report(run_folder: Path | str, out: Path | str | None = None) -> Path:
    """Write ``report.html`` of a run (or ``out``) and return its path; parts a run does not have are left out."""
    run_folder = Path(run_folder)
    if not run_folder.is_dir():
        raise UserError(f"{run_folder}: no such run folder")
    target = Path(out) if out is not None else run_folder / "report.html"
    run = json.loads((run_folder / "run.json").read_text()) if (run_folder / "run.json").is_file() else {}
    scene = read_scene(run_folder)
    title = str(scene.get("name", run_folder.resolve().name))
    status = str(run.get("status", ""))
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="lead">{html.escape(str(scene.get("description", "")))}'
        f'{" &middot; " if status else ""}<span class="{html.escape(status)}">{html.escape(status)}</span></p>',
        _picture(run_folder),
        _ledger(run_folder),
        _bodies(run_folder),
        _section("Run", _definition_table(run)) if run else "",
        _scene_text(run_folder),
    ]
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.write_text(page, encoding="utf-8")
    os.replace(temporary, target)
    return target


def _picture(run_folder: Path) -> str:
    path = run_folder / "preview.png"
    if not path.is_file():
        return ""
    film = '<p><a href="preview.mp4">preview.mp4</a></p>' if (run_folder / "preview.mp4").is_file() else ""
    return _inline_png(path.read_bytes(), "the last frame of the run") + film


def _ledger(run_folder: Path) -> str:
    if not (run_folder / "ledger.csv").is_file():
        return ""
    try:
        figure = ledger_figure(read_table(run_folder / "ledger.csv"), "")
    except UserError:  # the run ended before its first step
        return ""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=90)
    return _section("Ledger", _inline_png(data.getvalue(), "curves of the ledger"))


def _bodies(run_folder: Path) -> str:
    """The last row of each body."""
    path = run_folder / "bodies.csv"
    if not path.is_file():
        return ""
    table = read_table(path)
    if "body" not in table or not table["body"]:
        return ""
    last = {name: i for i, name in enumerate(table["body"])}
    columns = [name for name in table if name not in ("step", "body")]
    head = "".join(f"<th>{html.escape(c)}</th>" for c in ["body", *columns])
    rows = [
        f"<tr><td>{html.escape(name)}</td>" + "".join(f"<td>{_short(table[c][i])}</td>" for c in columns) + "</tr>"
        for name, i in last.items()
    ]
    return _section("Bodies at the end", f'<div class="wide"><table><tr>{head}</tr>{"".join(rows)}</table></div>')


def _scene_text(run_folder: Path) -> str:
    path = run_folder / "scene.toml"
    return _section("Scene", f"<pre>{html.escape(path.read_text())}</pre>") if path.is_file() else ""


def _definition_table(values: dict[str, Any], prefix: str = "") -> str:
    def rows(values: dict[str, Any], prefix: str) -> str:
        text = ""
        for key, value in values.items():
            if isinstance(value, dict):
                text += rows(value, f"{prefix}{key}.")
            else:
                text += f'<tr><td>{html.escape(prefix + key)}</td><td class="text">{html.escape(str(value))}</td></tr>'
        return text

    return f"<table>{rows(values, prefix)}</table>"


def _section(title: str, content: str) -> str:
    return f"<h2>{html.escape(title)}</h2>\n{content}"


def _inline_png(data: bytes, description: str) -> str:
    return f'<img alt="{html.escape(description)}" src="data:image/png;base64,{base64.b64encode(data).decode()}">'


def _short(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return html.escape(text)
