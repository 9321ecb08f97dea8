"""Curves of a validation case as a picture: measured beside its reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from undertow.errors import UserError


def curves(title: str, x: str, y: str, **lines: tuple[Any, Any]) -> dict[str, Any]:
    """What ``draw`` draws, for the detail of a quantity: lines by label; a label that starts with "of_" is a
    reference, drawn as marks.
    """
    named = {label: {"x": [float(v) for v in a], "y": [float(v) for v in b]} for label, (a, b) in lines.items()}
    return {"title": title, "x": x, "y": y, "lines": named}


def check_folder(folder: Path) -> None:
    """Make the folder for pictures, before anything is computed; it must not hold other things."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UserError(
                f"--draw {folder}: exists and is not an empty folder; nothing is overwritten: name a new one"
            )
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise UserError(
            f"--draw {folder}: cannot be made ({getattr(error, 'strerror', None) or error}); name another folder"
        ) from None


def draw(folder: Path, result: dict[str, Any]) -> Path | None:
    """Draw the curves of a result, if it has any, as CASE-QUANTITY.png; returns the picture's path."""
    plot = result["detail"].get("curves")
    if plot is None:
        return None
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    for label, line in plot["lines"].items():
        is_reference = label.startswith("of_")
        words = label.removeprefix("of_").replace("_", " ")
        axes.plot(line["x"], line["y"], "o" if is_reference else "-", markersize=4, label=words)
    axes.set(title=plot["title"], xlabel=plot["x"], ylabel=plot["y"])
    axes.grid(alpha=0.3)
    axes.legend()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['case']}-{result['quantity']}.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
