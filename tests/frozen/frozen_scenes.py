"""The frozen scenes: one tiny scene per kind of simulation and coupling, as plain tables, by name.

Each runs for five steps of its own fixed length (particles choose theirs). Bodies start in motion, contacts nearly
closed, sources open, so that every part of a step does something. Solves are tight (1e-10), so that a result does not
depend on the order of sums; ``smoke`` keeps the default tolerance of a user.
"""

from __future__ import annotations

from typing import Any

Table = dict[str, Any]

STEPS = 5


def box(*size: float) -> Table:
    return {"type": "box", "size": size}


def ball(radius: float) -> Table:
    return {"type": "sphere", "radius": radius}


def shell(**form: Any) -> Table:
    return {"type": "shell", "form": form, "thickness": 0.01}


def solid(shape: Table, *position: float, **values: Any) -> Table:
    return {"type": "rigid_body", "shape": shape, "position": position, **values}


def soft(shape: Table, *position: float, **values: Any) -> Table:
    return {"type": "soft_body", "shape": shape, "position": position, **values}


def moved(*linear: float, spin: float = 0.0) -> Table:
    return {"type": "velocity", "linear": linear, "angular": (0.0, 0.0, spin)}


def hold(shape: Table, *position: float, **values: Any) -> Table:
    return {"shape": shape, "position": position, **values}


def turned(degrees: float, *axis: float) -> Table:
    return {"degrees": degrees, "axis": axis or (0.0, 0.0, 1.0)}


def drop(shape: Table, position: tuple[float, ...], velocity: tuple[float, ...], **values: Any) -> Table:
    return {"type": "water", "shape": shape, "position": position, "velocity": velocity, **values}


def sides(**given: Any) -> Table:
    return given


def fluid(upper: tuple[float, ...], cells: int, dt: float, objects: Table, **tables: Any) -> Table:
    """A full tank of fluid of 1.2 kg/m3; ``sides``, ``fluid`` and other tables of the scene on top."""
    domain = {"upper": upper, "resolution": cells, "resolution_along": "x", "sides": tables.pop("sides", {})}
    own = {"tolerance": 1e-10, **tables.pop("fluid", {})}
    time = {"end": 10.0, "frame_rate": 0.5, "fixed_step": dt, **tables.pop("time", {})}
    return {"domain": domain, "fluid": own, "time": time, "objects": objects, **tables}


def water(upper: tuple[float, ...], cells: int, dt: float, depth: float, objects: Table, **tables: Any) -> Table:
    """A tank of water with an open top, filled to a depth."""
    normal, place = (0.0, 1.0, 0.0)[: len(upper)], (0.5 * upper[0], depth, 0.5 * upper[-1])[: len(upper)]
    pool = {"type": "water", "shape": {"type": "plane", "normal": normal}, "position": place}
    tables["fluid"] = {"density": 1000.0, **tables.pop("fluid", {})}
    tables.setdefault("sides", {"y_high": "open"})
    return fluid(upper, cells, dt, {"pool": pool, **objects}, **tables)


def solids(dt: float, objects: Table, **tables: Any) -> Table:
    """Solids without fluid."""
    return {"time": {"end": 10.0, "frame_rate": 0.5, "fixed_step": dt}, "objects": objects, **tables}


def particles(upper: tuple[float, ...], cells: int, objects: Table, **tables: Any) -> Table:
    """Particles, which choose their step, in a box with an open top."""
    domain = {"upper": upper, "resolution": cells, "resolution_along": "x", "sides": {"y_high": "open"}}
    return {"domain": domain, "time": {"end": 10.0, "frame_rate": 0.5}, "objects": objects, **tables}


FLAT, CUBE = (1.0, 1.0), (1.0, 1.0, 1.0)
PERIODIC = dict.fromkeys(("x_low", "x_high", "y_low", "y_high"), "periodic")
FLOOR = {"floor": solid({"type": "plane", "normal": (0.0, 1.0, 0.0)}, 0.0, 0.0, 0.0)}
STILL = (0.0, 0.0)

LIGHT = solid(
    box(0.31, 0.24), 0.47, 0.41, rotation=turned(20.0), density=0.5, velocity=(0.3, -0.1),
    angular_velocity=(0.0, 0.0, 2.0),
)  # fmt: skip
HEAVY = solid(ball(0.13), 0.78, 0.55, density=3.0, velocity=(-0.3, 0.0))
PAIR = {
    "left": solid(ball(0.12), 0.38, 0.51, density=2.0, velocity=(0.5, 0.0)),
    "right": solid(box(0.2, 0.26), 0.605, 0.5, density=3.0, velocity=(-0.5, 0.0)),
}
"""Two bodies that meet in the first step."""
DISC = {
    "element_size": 0.12, "density": 1.5, "youngs_modulus": 30.0, "poisson_ratio": 0.4, "model": "neo_hookean",
}  # fmt: skip
FLOAT = solid(box(0.3, 0.2), 0.52, 0.51, rotation=turned(12.0), density=500.0, velocity=(0.1, -0.4))
HINGE = {"type": "joint", "kind": "hinge", "child": "arm", "position": (0.5, 0.8)}
DRIVEN = {"target": 40.0, "stiffness": 5.0, "damping": 0.1}

SCENES: dict[str, Table] = {
    # fluid alone, solids as prescribed
    "smoke": fluid(
        (1.0, 1.25), 16, 0.03,
        {
            "disc": solid(ball(0.15), 0.5, 0.6, motion=moved(0.0, 0.4, spin=2.0)),
            "source": {
                "type": "emitter", "shape": box(0.15, 0.2), "position": (0.15, 0.6), "temperature": 320.0,
                "velocity": (0.4, 0.1),
            },
        },
        sides=sides(x_low={"type": "inflow", "velocity": (0.5, 0.0), "smoke": 0.2}, x_high="outflow"),
        smoke={"confinement": 0.1, "cooling": 0.5, "dissipation": 0.2}, fluid={"tolerance": 1e-6},
    ),
    "smoke-3d": fluid(
        CUBE, 8, 0.05,
        {
            "disc": solid(ball(0.2), 0.5, 0.55, 0.48, motion=moved(0.2, 0.1, 0.0)),
            "source": {"type": "emitter", "shape": ball(0.2), "position": (0.5, 0.2, 0.5), "temperature": 350.0},
        },
        sides=sides(y_high="open"), smoke={},
    ),
    "lid-viscous": fluid(
        FLAT, 12, 0.05, {"post": solid(ball(0.17), 0.45, 0.4)}, fluid={"density": 1.0, "viscosity": 0.02},
        sides=sides(y_high={"type": "wall", "velocity": (1.0, 0.0)}),
    ),
    "channel-coupled-form": fluid(
        (1.0, 0.75), 12, 0.05, {"post": solid(ball(0.15), 0.4, 0.35, motion=moved(0.0, 0.2))},
        fluid={"density": 1.0, "viscosity": 0.05, "viscosity_form": "coupled", "no_slip": "extra_faces"},
        sides=sides(x_low={"type": "inflow", "velocity": (0.6, 0.0), "profile": "parabolic"}, x_high="outflow"),
    ),
    "second-order": fluid(
        FLAT, 12, 0.03, {"disc": solid(ball(0.16), 0.5, 0.5, motion=moved(0.3, 0.0, spin=1.0))},
        time={"stepper": "second_order"}, sides=PERIODIC, gravity=STILL,
        fluid={"density": 1.0, "viscosity": 0.01, "initial_vortices": 0.1},
    ),
    "implicit": fluid(
        FLAT, 10, 0.02, {}, time={"stepper": "implicit"}, gravity=STILL,
        fluid={"density": 1.0, "viscosity": 0.05, "initial_vortices": 0.02, "advection": "semi_lagrangian"},
        sides=sides(y_high={"type": "wall", "velocity": (0.5, 0.0)}),
    ),
    "periodic-3d": fluid(
        CUBE, 8, 0.05, {"post": solid(box(0.3, 0.3, 0.4), 0.5, 0.45, 0.5, rotation=turned(30.0, 1.0, 1.0, 0.0))},
        sides=sides(x_low="periodic", x_high="periodic"),
        fluid={
            "density": 1.0, "viscosity": 0.01, "acceleration": (1.0, 0.0, 0.0), "initial_velocity": (0.5, 0.0, 0.0),
            "advection": "semi_lagrangian",
        },
    ),
    # rigid bodies in a full tank
    "tank-contact": fluid(FLAT, 12, 0.01, PAIR, coupling="monolithic", fluid={"density": 1.0}),
    "tank-3d": fluid(
        CUBE, 8, 0.02,
        {
            "ball": solid(ball(0.19), 0.52, 0.5, 0.47, density=3.0, velocity=(0.2, 0.0, 0.1)),
            "brick": solid(box(0.3, 0.15, 0.3), 0.5, 0.2, 0.5, density=0.4, angular_velocity=(1.0, 0.0, 2.0)),
        },
        coupling="monolithic", fluid={"density": 1.0}, sides=sides(y_high="open"),
    ),
    "tank-viscous": fluid(
        (1.0, 0.8), 10, 0.03, {"light": LIGHT, "heavy": HEAVY}, coupling="monolithic",
        fluid={"density": 1.0, "viscosity": 0.1}, sides=sides(y_high="open"),
    ),
    "tank-coupled-form": fluid(
        (1.0, 0.8), 10, 0.03, {"light": LIGHT, "held": solid(ball(0.13), 0.8, 0.5)}, coupling="monolithic",
        fluid={"density": 1.0, "viscosity": 0.02, "viscosity_form": "coupled", "advection": "none"},
        sides=sides(y_high="open"),
    ),
    "tank-two-solves": fluid(
        FLAT, 12, 0.02, {"light": LIGHT, "heavy": HEAVY}, coupling="monolithic", monolithic={"solves": 2},
        fluid={"density": 1.0, "advection": "eno3", "tolerance": 1e-8},
    ),
    "tank-joints": fluid(
        (1.0, 0.8), 10, 0.03,
        {
            "light": LIGHT,
            "arm": solid(box(0.1, 0.2), 0.78, 0.55, density=3.0),
            "pin": {**HINGE, "parent": "light", "position": (0.7, 0.5), "upper": 20.0, "lower": -1.0},
            "motor": {**HINGE, "child": "light", "position": (0.47, 0.41), "control": DRIVEN},
        },
        coupling="monolithic", fluid={"density": 1.0, "viscosity": 0.05}, sides=sides(y_high="open"),
    ),
    "tank-lumped": fluid(
        FLAT, 12, 0.02, {"light": LIGHT, "heavy": HEAVY}, coupling="lumped",
        fluid={"density": 1.0, "viscosity": 0.05, "no_slip": "extra_faces", "tolerance": 1e-8},
    ),
    "tank-volume-fraction": fluid(
        FLAT, 12, 0.02, {"light": LIGHT, "heavy": HEAVY}, coupling="volume_fraction", fluid={"density": 1.0}
    ),
    # water
    "water-sources": water(
        FLAT, 16, 0.01, 0.3,
        {
            "tap": {"type": "water_source", "shape": box(0.2, 0.2), "position": (0.3, 0.8), "velocity": (0.2, -1.5)},
            "plug": {"type": "drain", "shape": box(0.3, 0.15), "position": (0.8, 0.1), "rate": 0.1},
            "paddle": solid(box(0.12, 0.3), 0.6, 0.3, rotation=turned(15.0), motion=moved(0.5, 0.0, spin=1.0)),
        },
        surface={"volume_correction": True},
    ),
    "water-viscosities": water(
        FLAT, 14, 0.02, 0.25,
        {"drop": drop(ball(0.17), (0.52, 0.5), (0.3, -1.0), viscosity=20.0)},
        fluid={"viscosity": 2.0},
    ),
    "water-spray-3d": water(
        CUBE, 10, 0.02, 0.3,
        {
            "drop": drop(ball(0.13), (0.52, 0.55, 0.47), (0.3, -3.0, 0.2)),
            "bead": drop(ball(0.07), (0.25, 0.75, 0.75), (1.0, 2.0, -1.0)),
        },
    ),
    "water-bodies": water(
        FLAT, 16, 0.02, 0.45,
        {"float": FLOAT, "stone": solid(ball(0.1), 0.5, 0.72, density=2000.0, velocity=(0.0, -3.0), restitution=0.4)},
        coupling="monolithic",
    ),
    "water-bodies-3d": water(
        CUBE, 8, 0.02, 0.45,
        {"float": solid(box(0.4, 0.2, 0.3), 0.52, 0.5, 0.48, density=600.0, velocity=(0.1, -0.5, 0.2))},
        coupling="monolithic",
    ),
    "water-viscous-joint": water(
        FLAT, 14, 0.02, 0.45,
        {
            "float": FLOAT,
            "arm": solid(box(0.12, 0.24), 0.78, 0.45, density=2500.0),
            "pin": {**HINGE, "parent": "float", "position": (0.68, 0.5), "control": {**DRIVEN, "stiffness": 500.0}},
        },
        coupling="monolithic", fluid={"viscosity": 5.0},
    ),
    "water-lumped": water(FLAT, 14, 0.02, 0.45, {"float": FLOAT}, coupling="lumped"),
    "water-rigid-fluid": water(
        FLAT, 14, 0.02, 0.45,
        {"float": FLOAT, "stone": solid(ball(0.1), 0.5, 0.73, density=2000.0, velocity=(0.0, -3.0))},
        coupling="rigid_fluid",
    ),
    "water-rigid-fluid-3d": water(
        CUBE, 8, 0.02, 0.45, {"ball": solid(ball(0.2), 0.52, 0.45, 0.48, density=700.0, velocity=(0.2, -0.5, 0.0))},
        coupling="rigid_fluid", fluid={"viscosity": 5.0}, rigid_fluid={"buoyancy": "source"},
    ),
    # rigid bodies alone
    "solids": solids(
        0.02,
        {
            **FLOOR,
            "box": solid(box(0.4, 0.2, 0.4), 0.0, 0.101, 0.0, density=500.0, velocity=(1.0, -0.5, 0.0)),
            "top": solid(ball(0.1), 0.05, 0.305, 0.02, density=800.0, velocity=(0.0, -1.0, 0.0), restitution=0.5),
            "bone": solid({"type": "capsule", "radius": 0.05, "length": 0.2}, 1.0, 0.049, 0.0, mass=1.5,
                          rotation=turned(90.0), rolling_friction=0.01),
        },
    ),
    "solids-joints": solids(
        0.02,
        {
            "arm": solid(box(0.1, 0.4, 0.1), 0.5, 0.6, 0.0, mass=2.0, angular_velocity=(0.0, 0.0, 3.0)),
            "pin": {**HINGE, "position": (0.5, 0.8, 0.0), "upper": 5.0, "lower": -90.0},
            "hand": solid(box(0.1, 0.2, 0.1), 0.5, 0.3, 0.0, mass=1.0, velocity=(0.1, 0.0, 0.4)),
            "wrist": {"type": "joint", "kind": "ball", "parent": "arm", "child": "hand", "position": (0.5, 0.4, 0.0)},
            "cart": solid(box(0.3, 0.2, 0.2), 2.0, 0.5, 0.0, mass=3.0),
            "rail": {
                "type": "joint", "kind": "prismatic", "child": "cart", "position": (2.0, 0.5, 0.0),
                "axis": (1.0, 0.0, 0.0), "control": {"target": 0.3, "stiffness": 400.0, "damping": 5.0},
            },
            "chip": solid(ball(0.1), 3.0, 0.5, 0.0, mass=1.0),
            "glue": {
                "type": "joint", "kind": "fixed", "child": "chip", "position": (3.3, 0.5, 0.0), "break_force": 5.0,
            },
        },
    ),
    "solids-shell-2d": solids(
        0.02,
        {
            "ground": solid({"type": "plane", "normal": (0.1, 1.0)}, 0.0, 0.0),
            "tub": solid(shell(type="tub", size=(0.5, 0.3)), 0.0, 0.253, density=300.0, velocity=(0.0, -1.0),
                         rotation=turned(20.0)),
        },
        solids={"joint_solver": "pairwise", "orientation_order": 3},
    ),
    "solids-come-and-go": solids(
        0.02,
        {
            **FLOOR,
            "box": solid(box(0.4, 0.2, 0.4), 0.0, 0.101, 0.0, density=500.0, velocity=(0.5, -0.5, 0.0)),
            "ball": solid(ball(0.1), 0.05, 0.305, 0.02, density=800.0, velocity=(0.0, -1.0, 0.0)),
        },
    ),
    # soft bodies alone
    "soft": solids(
        0.002,
        {
            **FLOOR,
            "block": soft(box(0.3, 0.2, 0.2), 0.0, 0.101, 0.0, element_size=0.1, youngs_modulus=2e4,
                          velocity=(0.3, -1.0, 0.0), damping=0.01),
            "ball": solid(ball(0.08), 0.03, 0.285, 0.01, density=1500.0, velocity=(0.0, -1.0, 0.0)),
        },
    ),
    "soft-newmark-2d": solids(
        0.002,
        {
            "disc": soft(ball(0.2), 0.3, 0.5, **DISC | {"velocity": (1.0, 0.0)}),
            "wall": solid(box(0.2, 1.0), 0.602, 0.5),
            "line": {
                "type": "rope", "position": (0.0, 0.9), "end": (0.5, 0.9), "length": 0.52, "element_size": 0.1,
                "stretching": 10.0,
                "holds": [hold(ball(0.02), 0.0, 0.9)],
            },
        },
        soft={"stepper": "newmark"},
    ),
    "soft-leapfrog": solids(
        0.001,
        {"block": soft(box(0.2, 0.2, 0.2), 0.0, 0.0, 0.0, element_size=0.1, youngs_modulus=1e4, model="stvk",
                       angular_velocity=(0.0, 3.0, 0.0), holds=[hold(box(0.3, 0.05, 0.3), 0.0, 0.1, 0.0)])},
        soft={"stepper": "leapfrog"},
    ),
    "soft-incompressible": solids(
        0.01,
        {**FLOOR, "block": soft(box(0.2, 0.2, 0.2), 0.0, 0.102, 0.0, element_size=0.1, youngs_modulus=1e4,
                                incompressible=True, velocity=(0.2, -1.0, 0.0))},
    ),
    "cloth-linearised": solids(
        0.002,
        {
            "sheet": {
                "type": "cloth", "size": (0.6, 0.6), "position": (0.0, 0.5, 0.0), "element_size": 0.15,
                "wind": (0.0, 0.0, 3.0), "drag": 1.0, "velocity": (0.0, -1.0, 0.0), "damping": 0.01,
                "holds": [hold(ball(0.05), -0.3, 0.5, -0.3, motion=moved(0.2, 0.5, 0.0))],
            },
            "ball": solid(ball(0.15), 0.03, 0.346, 0.02),
        },
        soft={"stepper": "linearised"},
    ),
    "attached": solids(
        0.01,
        {
            "arm": solid(box(0.1, 0.3, 0.1), 0.0, 0.5, 0.0, density=800.0, angular_velocity=(0.0, 0.0, 2.0)),
            "pin": {**HINGE, "position": (0.0, 0.65, 0.0)},
            "flesh": soft(box(0.2, 0.3, 0.2), 0.0, 0.5, 0.0, element_size=0.1, youngs_modulus=1e4,
                          holds=[hold(box(0.1, 0.3, 0.1), 0.0, 0.5, 0.0, body="arm")]),
            "line": {
                "type": "rope", "position": (0.0, 0.3, 0.0), "end": (0.6, 0.3, 0.0), "element_size": 0.15,
                "holds": [hold(ball(0.05), 0.6, 0.3, 0.0)],
            },
        },
        soft={"tolerance": 1e-9},
    ),
    # soft bodies and shells in a full tank
    "tank-soft": fluid(
        FLAT, 12, 0.02, {"disc": soft(ball(0.18), 0.37, 0.5, **DISC, velocity=(0.4, 0.1)), "heavy": HEAVY},
        coupling="monolithic", fluid={"density": 1.0},
    ),
    "tank-soft-contact": fluid(
        FLAT, 10, 0.02,
        {"plate": solid(box(0.5, 0.12), 0.5, 0.065, density=2.0),
         "disc": soft(ball(0.15), 0.5, 0.28, **DISC | {"youngs_modulus": 2e3, "density": 4.0}, velocity=(0.0, -1.0))},
        coupling="monolithic", fluid={"density": 1.0}, gravity=(0.0, -10.0),
    ),
    "tank-soft-two-solves": fluid(
        FLAT, 12, 0.02, {"disc": soft(ball(0.18), 0.4, 0.6, **DISC), "heavy": HEAVY},
        coupling="monolithic", monolithic={"solves": 2}, soft={"stepper": "newmark"},
        sides=sides(y_high="open"), gravity=STILL,
        fluid={"density": 1.0, "initial_vortices": 0.05, "tolerance": 1e-11},
    ),
    "tank-soft-attached": fluid(
        FLAT, 12, 0.01,
        {
            "heavy": HEAVY,
            "arm": soft(box(0.3, 0.24), 0.55, 0.55, **DISC, holds=[hold(ball(0.13), 0.78, 0.55, body="heavy")]),
            "pin": {**HINGE, "child": "heavy", "position": (0.78, 0.65)},
        },
        coupling="monolithic", fluid={"density": 1.0, "viscosity": 0.05},
    ),
    "tank-soft-coupled-form": fluid(
        (1.0, 0.8), 10, 0.03,
        {
            "disc": soft(box(0.3, 0.24), 0.43, 0.41, **DISC, velocity=(0.4, 0.2)),
            "rope": {"type": "rope", "position": (0.72, 0.2), "end": (0.78, 0.6), "element_size": 0.1, "density": 0.2},
        },
        coupling="monolithic", sides=sides(y_high="open"),
        fluid={"density": 1.0, "viscosity": 0.02, "viscosity_form": "coupled", "advection": "none"},
    ),
    "tank-incompressible": fluid(
        FLAT, 10, 0.02, {"disc": soft(ball(0.2), 0.45, 0.5, **DISC, incompressible=True, velocity=(0.4, 0.2))},
        coupling="monolithic", fluid={"density": 1.0},
    ),
    "tank-cloth-3d": fluid(
        CUBE, 8, 0.01,
        {"sheet": {"type": "cloth", "size": (0.5, 0.5), "position": (0.52, 0.5, 0.47), "element_size": 0.17,
                   "rotation": turned(80.0, 1.0, 0.0, 0.0), "density": 3.0, "velocity": (0.0, -0.3, 0.3),
                   "stretching": 10.0, "bending": 1e-3, "holds": [hold(box(0.6, 0.1, 0.4), 0.52, 0.75, 0.47)]}},
        coupling="monolithic", fluid={"density": 1.0}, sides=sides(y_high="open"),
    ),
    "tank-shell-smoke": fluid(
        FLAT, 12, 0.02,
        {
            "cup": solid(shell(type="tub", size=(0.5, 0.3)), 0.5, 0.5, rotation=turned(17.0), density=40.0),
            "source": {"type": "emitter", "shape": ball(0.12), "position": (0.5, 0.5), "temperature": 330.0},
        },
        coupling="monolithic", smoke={}, sides=sides(y_high="open"),
    ),
    # soft bodies and shells in water
    "water-soft": water(
        FLAT, 14, 0.01, 0.4,
        {"block": soft(box(0.36, 0.2), 0.5, 0.5, **DISC | {"youngs_modulus": 1e5, "density": 500.0},
                       velocity=(0.0, -1.0))},
        coupling="monolithic",
    ),
    "water-shell": water(
        FLAT, 16, 0.01, 0.35,
        {"boat": solid(shell(type="tub", size=(0.5, 0.3)), 0.5, 0.48, density=3000.0, rotation=turned(5.0)),
         "load": solid(ball(0.08), 0.52, 0.45, density=800.0)},
        coupling="monolithic",
    ),
    "water-rope-viscous": water(
        FLAT, 12, 0.01, 0.45,
        {"rope": {"type": "rope", "position": (0.2, 0.5), "end": (0.8, 0.4), "element_size": 0.1, "density": 5.0,
                  "holds": [hold(ball(0.03), 0.2, 0.5)]}},
        coupling="monolithic", fluid={"viscosity": 5.0},
    ),
    # particles
    "wcsph": particles(
        (0.6, 0.6), 16,
        {
            "water": {"type": "sph_fluid", "shape": box(0.6, 0.3), "position": (0.3, 0.15)},
            "float": solid(box(0.2, 0.1), 0.3, 0.35, density=400.0, velocity=(0.0, -1.0)),
            "tap": {"type": "water_source", "shape": box(0.1, 0.1), "position": (0.1, 0.5), "velocity": (0.0, -6.0)},
            "plug": {"type": "drain", "shape": box(0.1, 0.1), "position": (0.5, 0.05), "rate": 2.0},
        },
        coupling="direct_forcing",
    ),
    "wcsph-penalty-3d": particles(
        (0.5, 0.5, 0.5), 7,
        {
            "water": {"type": "sph_fluid", "shape": box(0.5, 0.2, 0.5), "position": (0.25, 0.1, 0.25)},
            "ball": solid(ball(0.1), 0.25, 0.29, 0.25, density=1500.0, velocity=(0.0, -2.0, 0.0)),
        },
        coupling="penalty",
    ),
    "iisph": particles(
        (0.6, 0.6), 16,
        {
            "water": {"type": "sph_fluid", "shape": box(0.6, 0.3), "position": (0.3, 0.15)},
            "ball": solid(ball(0.08), 0.3, 0.37, density=1500.0, velocity=(0.3, -2.0)),
            "spoon": solid(box(0.05, 0.2), 0.1, 0.3, motion=moved(0.5, 0.0)),
        },
        coupling="direct_forcing", sph={"method": "iisph", "surface_tension": 0.07},
    ),
}  # fmt: skip

PLUM = solid(ball(0.1), -0.5, 0.099, 0.0, density=600.0, velocity=(1.0, 0.0, 0.0))


def change(name: str, step: int, sim: Any, make_body: Any) -> None:
    """What is done to a scene between steps: in ``solids-come-and-go`` a body appears and another vanishes."""
    if name == "solids-come-and-go" and step == 1:
        sim.add("plum", make_body(**PLUM))
    if name == "solids-come-and-go" and step == 3:
        sim.remove("ball")
