"""The couplings of fluids and solids by name: what each does, what it goes with, and what assembles it.

Nothing is computed here. Scenes are checked against this table, ``undertow compare`` and the error messages are made
from it, and ``run`` looks up what assembles a scene. A new coupling is a module and one entry.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

GRID_FLUIDS = ("tank", "viscous tank", "water", "viscous water")
"""Fluids on a grid: they fill the domain, or have a free surface."""

FLUIDS = (*GRID_FLUIDS, "particles")
"""All kinds of fluid; a scene has one of them."""

SOLIDS = {
    "rigid body": "give it a motion instead of a density",
    "joint": "remove the joint",
    "shell": "give the body a solid shape of three cells and more",
    "soft_body": "remove it",
    "cloth": "remove it",
    "rope": "remove it",
    "animated mesh": "give it a mesh without frames",
}
"""Solids that a coupling may move or not, each with what else a user can do; a rigid body is one that forces move."""


@dataclass(frozen=True)
class Coupling:
    """One way to couple a fluid and solids.

    does: in a few words, after "the coupling". source: the publication. assemble: by family of fluids (``grid``,
    ``particles``), the function that makes its parts and its scheme, as "module:function". fluids, solids: what it
    goes with, of ``FLUIDS`` and ``SOLIDS``. keys: scene keys that are its own. takes: values of scene keys to which it
    is bound. why: the reason for a fluid, a solid or a key that it does without. moves: whether something must be there
    that it moves.
    """

    does: str
    source: str
    assemble: Mapping[str, str]
    fluids: Collection[str]
    solids: Collection[str]
    keys: Collection[str] = ()
    takes: Mapping[str, Collection[str]] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    moves: bool = True

    def reason(self, what: str) -> str:
        """Why it does without a fluid, a solid or a key."""
        return self.why.get(what, f"it {self.does}")

    def fits(self, fluid: str, solids: Collection[str]) -> bool:
        """Whether it goes with a fluid and all of the solids."""
        return fluid in self.fluids and set(solids) <= set(self.solids)


_FLUID, _PARTICLES = "undertow.run.assemble_fluid", "undertow.run.assemble_particles"
_STEPPER = {"time.stepper": ("first_order",)}
_OF_GRID = {
    "animated mesh": "an animated mesh takes no part in contact",
    "particles": "it needs a fluid on a grid",
    "time.stepper": "bodies in fluid have the first-order stepper",
}
_OF_PARTICLES = {fluid: "it moves the particles of an sph_fluid" for fluid in GRID_FLUIDS}

COUPLINGS = {
    "none": Coupling(
        "moves solids as prescribed", "",
        {"grid": f"{_FLUID}:prescribed", "particles": f"{_PARTICLES}:direct_forcing"},
        FLUIDS, ("animated mesh",), moves=False,
        why={"shell": "faces that a shell closes are rows of the coupled solve"},
    ),
    "monolithic": Coupling(
        "solves for the fluid and all solids together", "Schroeder 2011, chapter 5",
        {"grid": f"{_FLUID}:monolithic"},
        GRID_FLUIDS, ("rigid body", "joint", "shell", "soft_body", "cloth", "rope"),
        keys=("monolithic.solves",), takes={**_STEPPER, "fluid.no_slip": ("wall_rows",)},
        why={**_OF_GRID, "fluid.no_slip": "its bodies have walls of second order"},
    ),
    "lumped": Coupling(
        "moves rigid bodies with the fluid of their mixed cells", "Robinson-Mosher et al. 2008",
        {"grid": f"{_FLUID}:lumped"},
        ("tank", "viscous tank", "water"), ("rigid body", "joint"),
        keys=("lumped.mass",), takes={**_STEPPER, "fluid.no_slip": ("extra_faces",)},
        why={
            **_OF_GRID,
            "viscous water": "its extra faces stand in cells that the surface may leave",
            "fluid.no_slip": "its bodies are cells, along which fluid is held by extra faces",
        },
    ),
    "volume_fraction": Coupling(
        "moves rigid bodies one by one in an inviscid fluid that fills the domain", "Batty et al. 2007",
        {"grid": f"{_FLUID}:volume_fraction"},
        ("tank",), ("rigid body",), takes=_STEPPER,
        why=_OF_GRID,
    ),
    "rigid_fluid": Coupling(
        "solves for bodies as for water and makes them rigid again", "Carlson et al. 2004",
        {"grid": f"{_FLUID}:rigid_fluid"},
        ("water", "viscous water"), ("rigid body", "joint"), keys=("rigid_fluid.buoyancy",), takes=_STEPPER,
        why={
            **_OF_GRID,
            "tank": "it moves bodies in water",
            "viscous tank": "it moves bodies in water",
        },
    ),
    "direct_forcing": Coupling(
        "moves bodies and particles by predicted control forces", "Becker et al. 2009",
        {"particles": f"{_PARTICLES}:direct_forcing"},
        ("particles",), ("rigid body", "joint", "animated mesh"), keys=("sph.one_way",), moves=False,
        why=_OF_PARTICLES,
    ),
    "penalty": Coupling(
        "moves bodies and particles by repelling forces", "Monaghan 2005",
        {"particles": f"{_PARTICLES}:penalty"},
        ("particles",), ("rigid body", "joint", "animated mesh"), takes={"sph.method": ("wcsph",)}, moves=False,
        why={**_OF_PARTICLES, "sph.method": "its forces grow with the sound speed"},
    ),
}  # fmt: skip


def suited(fluid: str, solids: Collection[str]) -> list[str]:
    """Names of the couplings that go with a fluid and solids, the first one to be recommended."""
    return [name for name, coupling in COUPLINGS.items() if coupling.fits(fluid, solids)]
