"""Writes docs/couplings.md from the table of couplings: ``python docs/make_couplings.py``."""

from __future__ import annotations

from pathlib import Path

from undertow.couplings import COUPLINGS, FLUIDS, SOLIDS

HEAD = """# Couplings

Made by `docs/make_couplings.py` from `undertow/couplings.py`; scenes are checked against the same table. A coupling is
chosen by `coupling = "NAME"`. `tank` is a fluid that fills the domain, `water` has a free surface, `particles` is an
SPH fluid; `rigid body` is one that forces move. Bodies that move as prescribed go with every coupling.
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## What each does", "", "| coupling | what it does | source |", "|---|---|---|"]
    lines += [f"| `{name}` | {c.does} | {c.source} |" for name, c in COUPLINGS.items()]
    for title, levels in (("Fluids", FLUIDS), ("Solids", tuple(SOLIDS))):
        lines += ["", f"## {title}", "", f"| coupling | {' | '.join(levels)} |", "|---" * (len(levels) + 1) + "|"]
        for name, coupling in COUPLINGS.items():
            has = coupling.fluids if title == "Fluids" else coupling.solids
            lines.append(f"| `{name}` | {' | '.join('yes' if level in has else '-' for level in levels)} |")
    lines += ["", "## Why not", "", "| reason | coupling, and what it does without |", "|---|---|"]
    reasons: dict[str, dict[str, list[str]]] = {}
    for name, coupling in COUPLINGS.items():
        for what, why in coupling.why.items():
            reasons.setdefault(why, {}).setdefault(name, []).append(what)
    for why, names in reasons.items():
        found = "; ".join(f"`{name}`: {', '.join(whats)}" for name, whats in names.items())
        lines.append(f"| {why} | {found} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("couplings.md").write_text(page(), encoding="utf-8")
