"""Finding a scene: the gallery by name, a TOML file, or a Python file of the user's own."""

from __future__ import annotations

import importlib
import inspect
import runpy
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from undertow.errors import UserError
from undertow.scene import toml
from undertow.scene.faults import suggest
from undertow.scene.keys import assign
from undertow.scene.scene import Scene

GALLERY = Path(__file__).parent / "gallery"


def gallery_names() -> list[str]:
    """Names of the scenes that come with the package."""
    written = [path.stem for path in GALLERY.glob("*.toml")]
    computed = [path.stem.replace("_", "-") for path in GALLERY.glob("[a-z]*.py")]
    return sorted(written + computed)


def gallery_cards() -> list[tuple[str, str, str, str]]:
    """Name, description, source and cost of every scene of the gallery, without building it."""
    cards = []
    for name in gallery_names():
        written = GALLERY / f"{name}.toml"
        if written.is_file():
            card = toml.parse(written.read_text(encoding="utf-8"), name)
        else:
            card = _computed(name).CARD
        cards.append((name, card["description"], card["source"], card["cost"]))
    return cards


def find_scene(
    what: str | Path,
    resolution: int | None = None,
    frames: int | None = None,
    coupling: str | None = None,
    assignments: Iterable[str] = (),
    set: Mapping[str, Any] | None = None,
) -> Scene:
    """A gallery scene by name, FILE.toml (runs no code) or FILE.py (executed; defines ``scene``), with overrides.

    ``frames`` sets the end of the run to so many frame intervals; ``assignments`` are ``a.b=value`` with TOML values;
    ``set`` has values by dotted key: ``ut.scene("boat-spheres", set={"time.end": 2.0})``.
    """
    text = str(what)
    if len(text) > 4096:
        raise UserError(f"scene '{text[:60]}...': no path has {len(text)} letters; check what was given as the scene")
    if text.endswith(".py"):
        data, where = _from_python(Path(text)), text
    elif text.endswith(".toml"):
        data, where = toml.read_tables(Path(text)), text
    elif text in gallery_names():
        data, where = _from_gallery(text, resolution), text
    else:
        raise UserError(
            f"scene {text!r}: not in the gallery and no file FILE.toml or FILE.py; {suggest(text, gallery_names())}"
            f"'undertow scenes' lists the gallery"
        )
    toml.override(data, assignments)
    for key, value in (set or {}).items():
        assign(data, key, value, f"set {key}")
    if resolution is not None and isinstance(data.get("domain"), dict):
        data["domain"]["resolution"] = resolution
    elif resolution is not None and not _takes_resolution(text):
        raise UserError(
            f"--resolution {resolution}: scene {text!r} has no domain of cells and no size that it sets; leave it out, "
            f"or set the sizes of its objects with --set objects.NAME.KEY=VALUE"
        )
    if coupling is not None:
        data["coupling"] = coupling
    scene = toml.scene_from_dict(data, where)
    if frames is None:
        return scene
    if frames < 1:
        raise UserError(f"--frames {frames}: must be at least 1")
    return with_frames(scene, frames)


def _computed(name: str) -> Any:
    """The module of a scene of the gallery that is computed, else None."""
    if name not in gallery_names() or (GALLERY / f"{name}.toml").is_file():
        return None
    return importlib.import_module(f"undertow.scene.gallery.{name.replace('-', '_')}")


def _takes_resolution(name: str) -> bool:
    """Whether a scene is computed from a resolution: what it counts is in its line of the gallery."""
    module = _computed(name)
    return module is not None and "resolution" in inspect.signature(module.make_scene).parameters


def _from_gallery(name: str, resolution: int | None) -> dict[str, Any]:
    """A scene of the gallery: written in TOML, or computed where it has hundreds of bodies or elements of a size."""
    module = _computed(name)
    if module is None:
        return toml.read_tables(GALLERY / f"{name}.toml")
    if resolution is None or not _takes_resolution(name):
        return toml.scene_to_dict(module.make_scene())
    if resolution < 1:
        raise UserError(f"--resolution {resolution}: must be at least 1")
    return toml.scene_to_dict(module.make_scene(resolution=resolution))


def with_frames(scene: Scene, frames: int) -> Scene:
    """The same scene, ending at frame ``frames``."""
    return scene.model_copy(update={"time": scene.time.model_copy(update={"end": frames / scene.time.frame_rate})})


def _from_python(path: Path) -> dict[str, Any]:
    if "\0" in str(path) or not path.is_file():
        raise UserError(f"{str(path)!r}: no such scene file; check the path, or see 'undertow scenes'")
    try:
        names = runpy.run_path(str(path))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except SystemExit as error:
        raise UserError(f"{path}: ended the program (exit status {error.code}) before a scene was defined") from None
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        at = f" in line {lines[-1]}" if lines else ""
        raise UserError(f"{path}: the program failed{at}: {type(error).__name__}: {error}") from None
    found = names.get("scene")
    if not isinstance(found, Scene):
        raise UserError(f"{path}: defines no scene; end it with  scene = ut.Scene(...)  at module level")
    return toml.scene_to_dict(found)
