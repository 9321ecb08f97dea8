"""The README runs as written: its Python executes (on a coarser grid), and its TOML is the same scene."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def _block(language: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 1, f"the README has {len(blocks)} blocks of {language}; this test expects one"
    return blocks[0]


def test_the_toml_is_the_scene_of_the_python(tmp_path: Path) -> None:
    import undertow.scene as scenes

    (tmp_path / "first.py").write_text(_block("python").split("sim = ")[0])
    (tmp_path / "first.toml").write_text(_block("toml"))
    assert scenes.find_scene(tmp_path / "first.py") == scenes.find_scene(tmp_path / "first.toml")


def test_the_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = _block("python")
    # the same program on 16 cells and for a tenth of the time: a test of the interface, not of the flow
    small = text.replace("resolution=96", "resolution=16").replace("end=2.0", "end=0.2").replace("to(0.5)", "to(0.05)")
    assert small.count("resolution=16") == small.count("end=0.2") == small.count("to(0.05)") == 1
    names: dict[str, object] = {}
    exec(compile(small, "README.md", "exec"), names)
    assert names["sim"].time == pytest.approx(0.2)  # type: ignore[attr-defined]
    assert (tmp_path / "runs" / "first" / "ledger.csv").is_file()


def test_links_lead_somewhere() -> None:
    """Relative links of the README and the documentation; pictures and measured results are made by the program."""
    made = re.compile(r"docs/(pictures/|status\.md|validation)")
    missing = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            path = (page.parent / target).resolve()
            if "://" in target or path.exists():
                continue
            if not made.match(str(path.relative_to(ROOT))):
                missing.append(f"{page.relative_to(ROOT)}: {target}")
    assert not missing, "\n".join(missing)


def test_citations_are_in_the_bibliography() -> None:
    known = set(re.findall(r"@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text()))
    cited = {key for page in (ROOT / "docs").rglob("*.md") for key in re.findall(r"\[@(\w+)", page.read_text())}
    assert cited <= known, f"cited but not in docs/references.bib: {sorted(cited - known)}"
