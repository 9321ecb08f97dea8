"""Reading a run folder back: tables, frames, and a picture of itself in a notebook."""

from __future__ import annotations

import csv
import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from undertow.errors import UserError
from undertow.run.folder import check_run_folder, read_json
from undertow.scene import Scene, toml

if TYPE_CHECKING:
    from undertow.output import FrameData


class Columns(dict[str, np.ndarray]):
    """Columns of a table by name; ``units`` holds the unit of each."""

    def __init__(self, columns: dict[str, np.ndarray], units: dict[str, str]) -> None:
        super().__init__(columns)
        self.units = units

    def where(self, column: str, value: object) -> Columns:
        """The rows in which ``column`` equals ``value``."""
        chosen = self[column] == value
        return Columns({name: values[chosen] for name, values in self.items()}, self.units)


def read_table(path: Path) -> Columns:
    """A CSV table of a run: floats where every value is a number, else text."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except FileNotFoundError:
        raise UserError(f"{path}: this table of the run is missing") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"{path}: the table is damaged ({error})") from None
    if not rows:
        raise UserError(f"{path}: the table is empty")
    columns, units = {}, {}
    for index, title in enumerate(rows[0]):
        name, _, unit = title.partition(" [")
        units[name] = unit.rstrip("]")
        values = [row[index] for row in rows[1:] if len(row) == len(rows[0])]
        try:
            columns[name] = np.array(values, dtype=float)
        except ValueError:
            columns[name] = np.array(values)
    return Columns(columns, units)


class Run:
    """A run folder: ``ledger``, ``bodies``, ``waters``, ``probes``, ``events``, ``timing`` as columns,
    ``frame(i)``, ``scene``, ``info``."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = check_run_folder(Path(folder))

    @property
    def scene(self) -> Scene:
        """The resolved scene."""
        path = self.folder / "scene.toml"
        return toml.read(path.read_text(encoding="utf-8"), str(path))

    @property
    def info(self) -> dict[str, Any]:
        """run.json: versions, commit, seed, machine, status."""
        return read_json(self.folder / "run.json")

    @property
    def ledger(self) -> Columns:
        """One row per step."""
        return read_table(self.folder / "ledger.csv")

    @property
    def bodies(self) -> Columns:
        """One row per step and solid."""
        return read_table(self.folder / "bodies.csv")

    @property
    def waters(self) -> Columns:
        """One row per step and body of water, the largest first."""
        return read_table(self.folder / "waters.csv")

    @property
    def events(self) -> Columns:
        """One row per body that broke or tore: when, where, by whom, by which impulse or stretch, into how many
        pieces."""
        return read_table(self.folder / "events.csv")

    @property
    def timing(self) -> Columns:
        """Wall-clock figures, one row per step."""
        return read_table(self.folder / "timing.csv")

    @property
    def probes(self) -> dict[str, Columns]:
        """By probe: ``time`` and each quantity, shape (steps,) or (steps, points) for lines."""
        table = read_table(self.folder / "probes.csv")
        found = {}
        for name in dict.fromkeys(table["probe"]):
            rows = table.where("probe", name)
            columns = {}
            for quantity in dict.fromkeys(rows["quantity"]):
                part = rows.where("quantity", quantity)
                points = int(part["point"].max()) + 1
                values = part["value"].reshape(-1, points)
                columns["time"] = part["time"].reshape(-1, points)[:, 0]
                columns[str(quantity)] = values[:, 0] if points == 1 else values
            found[str(name)] = Columns(columns, {})
        return found

    @property
    def frames(self) -> list[int]:
        """Indices of the frames on disk."""
        from undertow.output import frame_indices

        return frame_indices(self.folder)

    def frame(self, index: int) -> FrameData:
        """A frame read back: ``cell_fields`` by name and ``bodies``; negative indices count from the end."""
        from undertow.output import frame_folder, read_frame

        frames = self.frames
        if index < 0 and len(frames) >= -index:
            index = frames[index]
        if index not in frames:
            known = f"the frames are {frames[0]} to {frames[-1]}" if frames else "there are none yet"
            raise UserError(f"{self.folder}: there is no frame {index}; {known}")
        return read_frame(frame_folder(self.folder, index))

    def __repr__(self) -> str:
        frames = self.frames
        return f"Run({str(self.folder)!r}, {self.info['status']}, {len(frames)} frames)"

    def _repr_png_(self) -> bytes | None:
        picture = self.folder / "preview.png"
        return picture.read_bytes() if picture.is_file() else None

    def _repr_html_(self) -> str:
        import base64

        info = self.info
        picture = self._repr_png_()
        image = f'<img src="data:image/png;base64,{base64.b64encode(picture).decode()}">' if picture else ""
        facts = {"run": self.folder, "scene": info["scene"], "status": info["status"], "frames": len(self.frames)}
        cells = "".join(f"<tr><th>{k}</th><td>{html.escape(str(v))}</td></tr>" for k, v in facts.items())
        return f"<div>{image}<table>{cells}</table></div>"
