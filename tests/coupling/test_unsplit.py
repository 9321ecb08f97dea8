"""Pressure, viscosity and solids in one system: the dense system of thesis 5.30, energy, steady states."""

import numpy as np
import pytest

import undertow as ut
from undertow.coupling.lumped import LumpedWalls
from undertow.coupling.solid_velocities import BLOCK as SOLIDS
from undertow.rigid.rows import BLOCK as RIGID


def tank(kind, **changes):
    """A small tank with an open top, and what ``kind`` says in it."""
    disc = {"shape": ut.Box(size=(0.31, 0.24)), "position": (0.47, 0.41), "rotation": ut.Rotation(degrees=20.0)}
    light = ut.RigidBody(**disc, density=0.3, velocity=(0.3, 0.1), angular_velocity=(0.0, 0.0, 2.0))
    arm = ut.RigidBody(shape=ut.Box(size=(0.1, 0.2)), position=(0.78, 0.55), density=3.0)
    held = ut.RigidBody(shape=ut.Sphere(radius=0.13), position=(0.8, 0.5))
    soft = ut.SoftBody(
        shape=ut.Box(size=(0.3, 0.24)), position=(0.43, 0.41), element_size=0.12, youngs_modulus=3e2, density=0.5,
        velocity=(0.4, 0.2),
    )  # fmt: skip
    rope = ut.Rope(position=(0.72, 0.2), end=(0.78, 0.6), element_size=0.1, density=0.2)
    hinge = ut.Joint(kind="hinge", parent="disc", child="arm", position=(0.7, 0.5))
    objects = {
        "rigid": {"disc": light, "held": held},
        "joined": {"disc": light, "arm": arm, "hinge": hinge},
        "lumped": {"disc": light, "held": held},
        "lumped joined": {"disc": light, "arm": arm, "hinge": hinge},
        "soft": {"disc": soft, "rope": rope},
    }[kind]
    fields = {
        "name": "tank",
        "coupling": "lumped" if kind.startswith("lumped") else "monolithic",
        "gravity": (0.0, 0.0),
        "domain": ut.Domain(upper=(1.0, 0.8), resolution=10, sides={"y_high": "open"}),
        "time": ut.Time(end=1.0, frame_rate=100.0, fixed_step=0.05),
        "fluid": ut.Fluid(
            density=1.0, viscosity=0.4, tolerance=1e-11, viscosity_form="coupled", advection="none",
            no_slip="extra_faces" if kind.startswith("lumped") else "wall_rows",
        ),
        "objects": objects,
    }  # fmt: skip
    return ut.Scene(**{**fields, **changes})


class Packed:
    """The velocities of the blocks of a system in one vector, without faces that no fluid moves."""

    def __init__(self, system):
        self.blocks = {block.name: block for block in system.blocks}
        self.used, self.parts, start = {}, {}, 0
        for name, block in self.blocks.items():
            moves = block.inv_mass > 0.0 if name == "fluid" else np.ones(block.shape, dtype=bool)
            self.used[name] = np.flatnonzero(moves)
            self.parts[name] = slice(start, start := start + len(self.used[name]))
        self.size = start

    def pack(self, w):
        return np.concatenate([w[name].reshape(-1)[used] for name, used in self.used.items()])

    def views(self, packed):
        found = {name: np.zeros(block.shape) for name, block in self.blocks.items()}
        for name, part in self.parts.items():
            found[name].reshape(-1)[self.used[name]] = packed[part]
        return found

    def matrix(self, apply):
        """Of a linear function of named velocities to a vector."""
        return np.array([apply(self.views(unit)) for unit in np.eye(self.size)]).T


def dense(solve):
    """(packed, B^-1, C^T C, K, s, C^T s_C) of the blocks and rows of the unsplit system.

    Directions that are prescribed, or held by joints, have no inverse mass.
    """
    system, rows = solve.unsplit.system, solve.rows
    packed = Packed(system)
    active = rows.stencil.diagonal_c > 0.0

    def inertia(w):
        out = packed.views(np.zeros(packed.size))
        for name, block in packed.blocks.items():
            block.apply_inertia(w[name], np.zeros(block.shape), out[name])
        return packed.pack(out)

    def gram(w):
        out = packed.views(np.zeros(packed.size))
        for row in system.folded:
            row.add_gram(w, out)
        return packed.pack(out)

    def divergence(w):
        out = np.zeros(rows.shape)
        rows.apply(w, out)
        return out[active]

    pushed = packed.views(np.zeros(packed.size))
    for row in system.folded:
        if row.target is not None:
            row.add_transpose(row.target, pushed)
    inverse = np.linalg.pinv(packed.matrix(inertia), rcond=1e-12, hermitian=True)
    K = packed.matrix(divergence)
    return packed, inverse, packed.matrix(gram), K, rows.target[active], packed.pack(pushed)


def solved(sim, seed, dt):
    """(w*, w, the dense system): random velocities of the fluid, before and after a solve over dt."""
    flow, solve, rng = sim.flow, sim.flow.solve, np.random.default_rng(seed)
    u = np.where(flow.domain.inv_mass_f > 0.0, rng.normal(size=flow.state.u.shape), 0.0)
    before, coupled = {"fluid": u.copy()}, solve.rigid.coupled
    if solve.nodes:
        nodes = solve.nodes[0]
        block, given = SOLIDS, np.zeros(nodes.block.shape)
        nodes.set_masses(dt)
        nodes.block.take(given)
        nodes.add_forces(given, dt, nodes.walls.lumped_momentum(u, given))
        nodes.block.settle(given, np.zeros(0))
    else:
        block, given = RIGID, np.zeros((coupled.bodies.count, 6))
        coupled.impulse_b[...] = 0.0
        coupled.take_twists(given)
        lumped = (
            solve.rigid.walls.lumped_b if isinstance(solve.rigid.walls, LumpedWalls) else np.zeros((len(given), 6, 6))
        )
        # no fluid comes in with the body: what it carries is at rest
        slowed = np.einsum("bij,bj->bi", lumped, given)
        solve.rigid.block.project(given)
        solve.rigid.block.apply_inverse_mass(slowed, slowed)
        given -= slowed
    before[block] = given
    before.setdefault(RIGID, np.zeros((coupled.bodies.count, 6)))
    solve.solve(u, flow.grid.cell_field(), dt)
    after = {"fluid": u, RIGID: np.zeros((coupled.bodies.count, 6)), block: np.zeros_like(given)}
    if block == SOLIDS:
        solve.nodes[0].block.take(after[SOLIDS])
    else:
        coupled.take_twists(after[RIGID])
        u[flow.domain.inv_mass_f == 0.0] = 0.0
    return before, after, dense(solve)


@pytest.mark.parametrize("kind", ["rigid", "joined", "lumped", "lumped joined", "soft"])
def test_the_solve_is_that_of_the_dense_system(kind):
    """(5.30): rows K and C with duals z of their own, symmetric and positive, and velocities w* - B^-1 [K C]^T z."""
    before, after, (packed, inverse, gram, K, wanted, pushed) = solved(ut.Simulation(tank(kind)), 1, 0.05)
    w = packed.pack(before)
    values, vectors = np.linalg.eigh(gram)
    assert values.min() > -1e-12 * values.max()
    C = (np.sqrt(np.maximum(values, 0.0)) * vectors).T[values > 1e-13 * values.max()]
    rows = np.concatenate([K, C])
    A = rows @ inverse @ rows.T + np.diag(np.concatenate([np.zeros(len(K)), np.ones(len(C))]))
    np.testing.assert_allclose(A, A.T, atol=1e-10 * np.abs(A).max())
    assert np.linalg.eigvalsh(A).min() > -1e-10 * np.abs(A).max()
    target = np.concatenate([wanted, np.linalg.lstsq(C.T, pushed, rcond=1e-13)[0]])
    z = np.linalg.lstsq(A, rows @ w - target, rcond=1e-14)[0]
    expected = w - inverse @ rows.T @ z
    free = np.abs(inverse).sum(axis=1) > 0.0
    assert np.abs(expected - w)[free].max() > 0.1
    np.testing.assert_allclose(packed.pack(after)[free], expected[free], atol=1e-7)


@pytest.mark.parametrize("kind", ["rigid", "joined", "lumped", "soft"])
@pytest.mark.parametrize("dt", [0.02, 5.0])
def test_energy_falls_whatever_the_step(kind, dt):
    """5.8: w^T B w of fluid and solids is not more after the solve than before, here much less."""
    before, after, (packed, inverse, *_) = solved(ut.Simulation(tank(kind)), 3, dt)
    mass = np.linalg.pinv(inverse, rcond=1e-12, hermitian=True)
    energy = [packed.pack(w) @ mass @ packed.pack(w) for w in (before, after)]
    assert energy[1] < 0.9 * energy[0]


def test_a_steady_state_is_reached_at_once():
    """A disc that sinks in a fluid so thick that it follows its weight: with the split form the pressure lags behind by
    steps (0.5% off after 50 of them, dt mu / rho dx^2 being 8), the one system has the answer of small steps."""
    disc = {"disc": ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.5, 0.4), density=4.0)}

    def speed(form, dt, steps):
        scene = tank("rigid", gravity=(0.0, -9.81), objects=disc, time=ut.Time(end=9.0, fixed_step=dt))
        fluid = scene.fluid.model_copy(update={"viscosity_form": form, "viscosity": 4.0, "tolerance": 1e-9})
        sim = ut.Simulation(scene.model_copy(update={"fluid": fluid}))
        place = sim.scheme.bodies.bodies.x_b.copy()
        for _ in range(steps):
            sim.step()
            sim.scheme.bodies.bodies.x_b[...] = place
        return float(sim.body("disc").velocity[1])

    steady = speed("coupled", 0.02, 12)
    assert speed("coupled", 0.02, 8) == pytest.approx(steady, rel=1e-5)
    assert 1.002 < speed("split", 0.02, 50) / steady < 1.01
    assert speed("split", 0.005, 200) == pytest.approx(speed("coupled", 0.005, 40), rel=1e-5)
    assert steady == pytest.approx(-0.0192384, rel=1e-5)


def disc_in(density, form, tolerance, viscosity=4.0, **changes):
    """A disc in a small tank, closed unless told else."""
    fields = {
        "name": "tank", "coupling": "monolithic", "domain": ut.Domain(upper=(1.0, 1.0), resolution=16),
        "time": ut.Time(end=9.0, fixed_step=0.01), "gravity": (0.0, -9.81),
        "fluid": ut.Fluid(density=1.0, viscosity=viscosity, viscosity_form=form, tolerance=tolerance),
        "objects": {"disc": ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.47, 0.45), density=density)},
    }  # fmt: skip
    return ut.Simulation(ut.Scene(**{**fields, **changes}))


@pytest.mark.parametrize("density", [1e-3, 1e-6])
def test_light_bodies_are_as_good_as_the_tolerance(density):
    """It is relative to how fast they are in the fluid, not to how fast they would be without."""
    found = []
    for tolerance in (1e-6, 1e-12):
        sim = disc_in(density, "coupled", tolerance)
        for _ in range(3):
            sim.step()
        found.append(np.append(sim.body("disc").velocity[:2], 0.15 * sim.body("disc").angular_velocity[2]))
    np.testing.assert_allclose(found[0], found[1], atol=1e-4 * found[1][1])
    assert found[1][1] > 0.0


def test_a_thick_fluid_comes_to_rest():
    """Down to where rounding is all there is: nothing fails."""
    thing = ut.RigidBody(shape=ut.Sphere(radius=0.15), position=(0.47, 0.45), density=2.0, velocity=(1.0, 0.3))
    sim = disc_in(2.0, "coupled", 1e-6, viscosity=10.0, gravity=(0.0, 0.0), objects={"disc": thing})
    for _ in range(40):
        sim.step()
    assert np.abs(sim.state.u).max() < 1e-11


def test_the_level_of_a_large_closed_tank_is_free():
    """1 km of water: the constant pressure is a null vector whatever the units."""
    sim = disc_in(
        2000.0, "coupled", 1e-6, viscosity=1.0, domain=ut.Domain(upper=(1000.0, 1000.0), resolution=16),
        fluid=ut.Fluid(density=1000.0, viscosity=1.0, viscosity_form="coupled", tolerance=1e-6),
        objects={"disc": ut.RigidBody(shape=ut.Sphere(radius=150.0), position=(470.0, 450.0), density=2000.0)},
    )  # fmt: skip
    sim.step()
    assert sim.flow.solve.unsplit.system.null_space("pressure").count == 1


@pytest.mark.parametrize("kind", ["rigid", "joined", "soft", "lumped"])
def test_it_goes_on_where_it_was(kind, goes_on):
    sim = ut.Simulation(tank(kind))
    for _ in range(2):
        sim.step()
    goes_on(sim, 2)
