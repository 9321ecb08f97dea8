"""docs/equations.md says truly which function has which numbered equation of the five papers."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("make_equations", ROOT / "docs" / "make_equations.py")
assert _SPEC is not None and _SPEC.loader is not None
equations = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(equations)

PRINTED = {
    "schroeder2011": [("2.", 5), ("3.", 3), ("4.", 4), ("5.", 43), ("6.", 38), ("B.", 6), ("C.", 1)],
    "robinsonmosher2008": [("", 24)],
    "carlson2004": [("", 26)],
    "guendelman2005": [("", 6)],
    "becker2009": [("", 22)],
}
"""How many numbered equations the papers have, by chapter."""


def test_the_page_is_what_the_code_says():
    page = (ROOT / "docs" / "equations.md").read_text()
    assert page == equations.write(), "run: python docs/make_equations.py"


def test_every_equation_has_a_function_or_a_reason():
    wrong = equations.faults()
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("paper", PRINTED)
def test_the_list_has_every_numbered_equation(paper):
    numbers = [equation["number"] for equation in equations.load()[paper]["equations"]]
    assert numbers == [f"{chapter}{n}" for chapter, count in PRINTED[paper] for n in range(1, count + 1)]


def test_the_pages_named_exist():
    for paper in equations.load().values():
        pages = {paper["page"], *(e["page"] for e in paper["equations"] if "page" in e)}
        missing = [page for page in sorted(pages) if not (ROOT / "docs" / "methods" / page).exists()]
        assert not missing, missing


def test_equations_have_one_spelling():
    """(5.30), not "thesis 5.30" nor "eq. 5.30"."""
    wrong = equations.misspelled()
    assert not wrong, f"cite an equation by its number in round brackets: {sorted(wrong)}"


def test_reasons_are_used():
    text = equations.LIST.read_text()
    reasons = tomllib.loads(text)["reasons"]
    unused = [key for key in reasons if f'not_used = "{key}"' not in text]
    assert not unused, unused


PAPERS = {"schroeder2011": {"5.3", "5.30", "5.31"}, "becker2009": {"4", "12", "13", "14", "18"},
          "robinsonmosher2008": {"16"}}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('"""One system (5.30)."""', [("schroeder2011", "5.30", "")]),
        ('"""As thesis 5.31 and 5.3."""', [("schroeder2011", "5.31", "")]),  # section 5.3
        ('"""Section (5.9)."""', []),  # no such equation in this list
        ('"""A tensor (3) of rank (4)."""', []),  # no paper with plain numbers is named
        ('"""[@becker2009]"""\ndef f():\n    """Force (12) to (14)."""',
         [("becker2009", "12", "f"), ("becker2009", "13", "f"), ("becker2009", "14", "f")]),
        ('"""[@becker2009]"""\nclass A:\n    def g(self):\n        pass  # (18)', [("becker2009", "18", "A.g")]),
        ('"""[@becker2009] Equation (4) of that paper is not used."""', []),
        ('"""Robinson-Mosher et al. 2008 (16)."""', [("robinsonmosher2008", "16", "")]),
        ('"""[@becker2009] beside Robinson-Mosher et al. 2008 [@x], (16)."""', [("robinsonmosher2008", "16", "")]),
        ('"""[@becker2009]"""\nx = f(12)\ny = "(12)".strip()', []),  # code is no citation
    ],
)  # fmt: skip
def test_citations(source, found):
    assert list(equations.citations(source, PAPERS)) == found
