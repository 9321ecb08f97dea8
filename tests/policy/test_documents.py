"""The documents hold together: records are numbered, named and indexed, references and links resolve, lines wrap."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DECISIONS, LAB, METHODS = DOCS / "decisions", DOCS / "lab", DOCS / "methods"
SECTIONS = ["Equations", "Discretisation", "Algorithm", "Code map", "Limits", "Figures"]
WIDTH = 120


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _records(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.md"))


def _texts() -> list[Path]:
    """Everything that may refer to a record or a page."""
    found = [path for folder in ("undertow", "tests") for path in (ROOT / folder).rglob("*.py")]
    found += [path for folder in ("undertow", "docs") for path in (ROOT / folder).rglob("*.md")]
    found += [path for path in (ROOT / "undertow").rglob("*.toml")]
    return [*sorted(found), *(ROOT / name for name in ("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml"))]


def _pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "undertow").rglob("*.md"))]


def test_records_and_notes_have_numbers_of_their_own() -> None:
    numbers = [path.name[:3] for folder in (DECISIONS, LAB) for path in _records(folder)]
    assert len(numbers) == len(set(numbers)), sorted(n for n in set(numbers) if numbers.count(n) > 1)


@pytest.mark.parametrize("path", [*_records(DECISIONS), *_records(LAB)], ids=_name)
def test_a_record_begins_with_its_number_and_title(path: Path) -> None:
    assert re.fullmatch(r"# \d{3} \S.*[^.]", path.read_text().splitlines()[0]), path.read_text().splitlines()[0]
    assert path.read_text().startswith(f"# {path.name[:3]} ")


@pytest.mark.parametrize("path", _records(DECISIONS), ids=_name)
def test_a_decision_says_whether_it_is_in_force(path: Path) -> None:
    status = [line for line in path.read_text().splitlines() if line.startswith("Status: ")]
    assert len(status) == 1, "one line 'Status: in force' or 'Status: superseded by NNN'"
    match = re.fullmatch(r"Status: (in force|superseded by (\d{3}))", status[0])
    assert match, status[0]
    assert match[2] is None or list(DECISIONS.glob(f"{match[2]}-*.md")), f"{match[2]} is no decision"


@pytest.mark.parametrize("path", _records(LAB), ids=_name)
def test_a_note_is_named_by_its_question(path: Path) -> None:
    assert path.read_text().splitlines()[0].endswith("?")


def test_decisions_are_indexed() -> None:
    index = (DECISIONS / "README.md").read_text()
    rows = re.findall(r"^\| \[(\d{3})\]\((\S+)\) \| (.+) \| (.+) \|$", index, re.MULTILINE)
    wanted = []
    for path in _records(DECISIONS):
        lines = path.read_text().splitlines()
        status = next(line for line in lines if line.startswith("Status: ")).removeprefix("Status: ")
        wanted.append((path.name[:3], path.name, lines[0][6:], status))
    assert rows == wanted


def test_notes_are_indexed() -> None:
    rows = re.findall(r"^\| \[(\d{3})\]\((\S+)\) \| (.+) \| .+ \|$", (LAB / "README.md").read_text(), re.MULTILINE)
    assert rows == [(p.name[:3], p.name, p.read_text().splitlines()[0][6:]) for p in _records(LAB)]


@pytest.mark.parametrize("path", _texts(), ids=_name)
def test_records_that_are_named_exist(path: Path) -> None:
    """ "record 092", "records 101, 102 and 107", "note [013](...)", docs/decisions/009-python-versions.md."""
    text = path.read_text()
    known = {record.name[:3] for folder in (DECISIONS, LAB) for record in _records(folder)}
    wrong = []
    number = r"\[?\d{3}\]?(?:\([^)]*\))?"
    numbers = re.compile(rf"\b(?:records?|notes?)\s+({number}(?:(?:,\s*|\s+and\s+){number})*)", re.IGNORECASE)
    for match in numbers.finditer(text):
        cited = re.sub(r"\([^)]*\)", "", match[1])
        wrong += [match[0] for cite in re.findall(r"\d{3}", cited) if cite not in known]
    for match in re.finditer(r"docs/(?:decisions|lab)/([\w.-]+\.md)", text):
        if not any((folder / match[1]).exists() and f"/{folder.name}/" in match[0] for folder in (DECISIONS, LAB)):
            wrong.append(match[0])
    assert not wrong, f"{_name(path)} names records that do not exist: {wrong}"


@pytest.mark.parametrize("path", _pages(), ids=_name)
def test_relative_links_resolve(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    missing = [
        target
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", text)
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert not missing, f"{_name(path)}: {missing}"


def test_the_status_is_one_table_on_one_screen() -> None:
    lines = (DOCS / "status.md").read_text().splitlines()
    assert len(lines) <= 120
    rows = [line for line in lines if line.startswith("| ") and not line.startswith(("| capability", "| **"))]
    states = [row.split(" | ")[1] for row in rows]
    wrong = [state for state in states if not re.match(r"(done|absent)\b|partial: \S", state)]
    assert not wrong, f"done, absent, or 'partial: ' and what is missing: {wrong}"


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=_name)
def test_lines_wrap(path: Path) -> None:
    """Tables cannot wrap; everything else does."""
    wide = [f"{i}: {line}" for i, line in enumerate(path.read_text().splitlines(), 1)
            if len(line) > WIDTH and not line.startswith("|")]  # fmt: skip
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize("path", sorted(METHODS.glob("*.md")), ids=_name)
def test_a_method_page_has_its_sections_in_order(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    parts = re.split(r"^## .+$", text, flags=re.MULTILINE)
    empty = [name for name, part in zip(SECTIONS, parts[1:], strict=True) if not part.strip()]
    assert not empty, f"sections without a word: {empty}"


def test_every_method_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text()
    missing = [path.name for path in sorted(METHODS.glob("*.md")) if f"(methods/{path.name})" not in index]
    assert not missing, missing


def test_every_paper_has_its_page() -> None:
    pages = {path.name for path in METHODS.glob("*.md")}
    for paper in ("schroeder-2011", "robinson-mosher-2008", "carlson-2004", "guendelman-2005", "becker-2009"):
        assert any(name.startswith(paper) for name in pages), paper


def test_names_in_the_notation_are_in_the_code() -> None:
    """Classes, functions and arrays that docs/notation.md names."""
    code = "\n".join(path.read_text() for path in (ROOT / "undertow").rglob("*.py"))
    words = set(re.findall(r"\b[A-Za-z_]\w+\b", code))
    rows = [line.split("|") for line in (DOCS / "notation.md").read_text().splitlines() if line.startswith("| ")]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row[4])]
    named = {word for name in names for word in re.findall(r"[A-Za-z_]\w+", name)}
    missing = sorted(named - words)
    assert len(named) > 40 and not missing, f"docs/notation.md names what is not in the code: {missing}"


def test_the_page_of_couplings_is_that_of_the_table():
    made = runpy.run_path(str(ROOT / "docs" / "make_couplings.py"))["page"]()
    assert (ROOT / "docs" / "couplings.md").read_text(encoding="utf-8") == made, "run python docs/make_couplings.py"
