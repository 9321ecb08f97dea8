"""The coupled system against dense linear algebra: every reduction, prescribed velocities, targets, null spaces."""

import numpy as np
import pytest

from undertow.errors import PhysicsError
from undertow.grid import GHOSTS, Grid
from undertow.linalg import (
    ConjugateGradients,
    CoupledSystem,
    Identity,
    InverseMass,
    Minres,
    Multigrid,
    Refinement,
    Stencil,
    VelocityBlock,
)

VELOCITIES = {"fluid": (2, 7), "solid": (5,)}


class DenseRows:
    """Rows given by one matrix per velocity block."""

    def __init__(self, name, count, seed, damping=False, folded=False, target=False):
        rng = np.random.default_rng(seed)
        self.name, self.shape, self.damping, self.folded = name, (count,), damping, folded
        self.matrices = {v: rng.standard_normal((count, int(np.prod(s)))) for v, s in VELOCITIES.items()}
        self.target = rng.standard_normal(count) if target else None

    def apply(self, w, out):
        out[...] = sum(m @ w[v].reshape(-1) for v, m in self.matrices.items())

    def add_transpose(self, z, w):
        for v, m in self.matrices.items():
            w[v] += (m.T @ z).reshape(w[v].shape)

    def add_diagonal(self, inv_mass, out):
        for v, m in self.matrices.items():
            out += m**2 @ inv_mass[v].reshape(-1)

    def add_gram(self, w, out):
        z = np.zeros(self.shape)
        self.apply(w, z)
        self.add_transpose(z, out)

    def add_gram_diagonal(self, w):
        for v, m in self.matrices.items():
            w[v] += (m**2).sum(axis=0).reshape(w[v].shape)

    @property
    def dense(self):
        return np.hstack([self.matrices[v] for v in VELOCITIES])


def make_blocks(prescribed):
    rng = np.random.default_rng(7)
    blocks = []
    for name, shape in VELOCITIES.items():
        inv_mass = rng.uniform(0.2, 3.0, shape)
        if prescribed:
            inv_mass.reshape(-1)[::4] = 0.0
        blocks.append(VelocityBlock(name, inv_mass))
    return blocks


def solve_densely(blocks, rows, w_star):
    """(K B^-1 K^T + P) z = K w* - s by numpy."""
    k = np.vstack([row.dense for row in rows])
    inv_mass = np.concatenate([block.inv_mass.reshape(-1) for block in blocks])
    p = np.diag(np.concatenate([np.full(row.shape, float(row.damping)) for row in rows]))
    s = np.concatenate([np.zeros(row.shape) if row.target is None else row.target for row in rows])
    z = np.linalg.solve(k * inv_mass @ k.T + p, k @ w_star - s)
    return w_star - inv_mass * (k.T @ z), z


@pytest.mark.parametrize("prescribed", [False, True])
@pytest.mark.parametrize("target", [False, True])
@pytest.mark.parametrize(
    ("kinds", "reduction"),
    [
        ("c", "dual"), ("d", "dual"), ("cd", "dual"), ("f", "primal"), ("ff", "primal"),
        ("cf", "saddle"), ("cdf", "saddle"),
    ],
)  # fmt: skip
def test_reductions_equal_dense_solution(kinds, reduction, target, prescribed):
    """c: constraint, d: dual damping, f: folded damping; all views of the same blocks give the same w and z."""
    blocks = make_blocks(prescribed)
    rows = [
        DenseRows(f"row{i}", 4, seed=i, damping=kind != "c", folded=kind == "f", target=target)
        for i, kind in enumerate(kinds)
    ]
    system = CoupledSystem(blocks, rows)
    rng = np.random.default_rng(3)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    z = {row.name: rng.standard_normal(row.shape) for row in rows}
    w_star = np.concatenate([w[name].reshape(-1) for name in VELOCITIES])
    expected_w, expected_z = solve_densely(blocks, rows, w_star)
    stats = system.solve(w, z, 1e-11)
    assert stats.reduction == reduction and stats.converged and stats.relative <= 1e-11
    np.testing.assert_allclose(np.concatenate([w[n].reshape(-1) for n in VELOCITIES]), expected_w, atol=1e-8)
    np.testing.assert_allclose(np.concatenate([z[row.name] for row in rows]), expected_z, atol=1e-8)
    for block in blocks:
        held = block.inv_mass.reshape(-1) == 0
        start = 0 if block.name == "fluid" else 14
        np.testing.assert_array_equal(w[block.name].reshape(-1)[held], w_star[start:][: held.size][held])


@pytest.mark.parametrize("prescribed", [False, True])
@pytest.mark.parametrize("kept", [("solid",), ("fluid",), ("fluid", "solid")])
@pytest.mark.parametrize("kinds", ["c", "cd"])
def test_velocities_kept_as_unknowns_give_the_same_solution(kinds, kept, prescribed):
    """The indefinite form of Robinson-Mosher 2008, (16), is the same system with the velocities of some blocks kept."""
    blocks = make_blocks(prescribed)
    rows = [DenseRows(f"row{i}", 4, seed=i, damping=kind != "c", target=True) for i, kind in enumerate(kinds)]
    system = CoupledSystem(blocks, rows, {"solid": InverseMass(blocks[1])} if "solid" in kept else {}, kept=kept)
    rng = np.random.default_rng(3)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    z = {row.name: rng.standard_normal(row.shape) for row in rows}
    w_star = np.concatenate([w[name].reshape(-1) for name in VELOCITIES])
    expected_w, expected_z = solve_densely(blocks, rows, w_star)
    stats = system.solve(w, z, 1e-11)
    assert stats.reduction == "saddle" and stats.relative <= 1e-11
    np.testing.assert_allclose(np.concatenate([w[n].reshape(-1) for n in VELOCITIES]), expected_w, atol=1e-8)
    np.testing.assert_allclose(np.concatenate([z[row.name] for row in rows]), expected_z, atol=1e-8)


def test_kinetic_energy_never_grows_without_targets():
    """Schroeder 2011, section 5.8: 2 KE - 2 KE* = -z^T (K B^-1 K^T + 2 P) z <= 0."""
    blocks = make_blocks(prescribed=False)
    rows = [DenseRows("constraint", 3, 1), DenseRows("damping", 5, 2, damping=True)]
    rng = np.random.default_rng(5)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    z = {row.name: np.zeros(row.shape) for row in rows}

    def energy():
        return 0.5 * sum(float((w[b.name] ** 2 / b.inv_mass).sum()) for b in blocks)

    before = energy()
    CoupledSystem(blocks, rows).solve(w, z, 1e-12)
    k = np.vstack([row.dense for row in rows])
    inv_mass = np.concatenate([b.inv_mass.reshape(-1) for b in blocks])
    p = np.diag([0.0] * 3 + [1.0] * 5)
    zz = np.concatenate([z[row.name] for row in rows])
    assert energy() < before
    assert 2 * (energy() - before) == pytest.approx(-zz @ (k * inv_mass @ k.T + 2 * p) @ zz, rel=1e-8)


def test_zero_right_hand_side_returns_at_once():
    rows = [DenseRows("constraint", 3, 1)]
    w = {name: np.zeros(shape) for name, shape in VELOCITIES.items()}
    z = {"constraint": np.ones(3)}
    stats = CoupledSystem(make_blocks(False), rows).solve(w, z, 1e-6)
    assert stats.iterations == 0 and not z["constraint"].any() and not w["fluid"].any()


def test_failed_solve_names_its_reason():
    rows = [DenseRows("constraint", 4, 1)]
    rng = np.random.default_rng(3)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    system = CoupledSystem(make_blocks(False), rows)
    with pytest.raises(PhysicsError, match="iteration limit reached after 1 iterations: relative residual"):
        system.solve(w, {"constraint": np.zeros(4)}, 1e-10, max_iterations=1)
    w["solid"][0] = np.nan
    with pytest.raises(PhysicsError, match="not finite"):
        system.solve(w, {"constraint": np.zeros(4)}, 1e-10)


def test_mistakes_are_named():
    blocks = make_blocks(False)
    with pytest.raises(ValueError, match="unique"):
        CoupledSystem(blocks, [DenseRows("fluid", 3, 1)])
    with pytest.raises(ValueError, match="cannot be folded"):
        CoupledSystem(blocks, [DenseRows("joint", 3, 1, folded=True)])
    with pytest.raises(ValueError, match="no blocks"):
        CoupledSystem(blocks, [DenseRows("joint", 3, 1)], {"pressure": None})
    with pytest.raises(ValueError, match="kept velocities, of .'gas'."):
        CoupledSystem(blocks, [DenseRows("joint", 3, 1)], kept=["gas"])
    system = CoupledSystem(blocks, [DenseRows("joint", 3, 1)])
    w = {name: np.zeros(shape) for name, shape in VELOCITIES.items()}
    with pytest.raises(ValueError, match="dual 'joint' has shape"):
        system.solve(w, {"joint": np.zeros(4)}, 1e-6)
    with pytest.raises(ValueError, match="velocity 'solid' has shape"):
        system.solve({**w, "solid": np.zeros(4)}, {"joint": np.zeros(3)}, 1e-6)
    row = DenseRows("viscosity", 3, 1, damping=True, folded=True)
    row.__class__ = type("NoGram", (DenseRows,), {"add_gram_diagonal": None})
    with pytest.raises(TypeError, match="add_gram"):
        CoupledSystem(blocks, [row])
    row = DenseRows("joint", 3, 1)
    row.__class__ = type("NoDiagonal", (DenseRows,), {"add_diagonal": None})
    with pytest.raises(TypeError, match="'joint' lacks add_diagonal"):
        CoupledSystem(blocks, [row])
    CoupledSystem(blocks, [row], {"joint": Identity()})


class Divergence:
    """Rows of the flux out of each cell through faces of the given areas, with its structured operator."""

    name, damping, folded, target, direct = "pressure", False, False, None, "fluid"

    def __init__(self, grid, area_f, inv_mass, open_c=None):
        self.grid, self.area_f, self.shape = grid, area_f, grid.padded
        self.stencil = Stencil(grid)
        for axis in grid.axes:
            inside = [slice(None)] * 3
            inside[2 - axis] = slice(GHOSTS + 1, GHOSTS + grid.cells[axis])
            part = tuple(inside)
            self.stencil.face_f[axis][part] = (area_f[axis] ** 2 * inv_mass[axis])[part]
            edge = [slice(None)] * 3
            edge[2 - axis] = slice(GHOSTS + grid.cells[axis], GHOSTS + grid.cells[axis] + 1)
            last = [slice(None)] * 3
            last[2 - axis] = slice(GHOSTS + grid.cells[axis] - 1, GHOSTS + grid.cells[axis])
            self.stencil.dirichlet_c[tuple(last)] += (area_f[axis] ** 2 * inv_mass[axis])[tuple(edge)]
        self.stencil.setup()

    def apply(self, w, out):
        out[...] = 0.0
        u = w["fluid"]
        for axis in self.grid.axes:
            flux = self.area_f[axis] * u[axis]
            out[self.grid.interior] += (np.roll(flux, -1, axis=2 - axis) - flux)[self.grid.interior]

    def add_transpose(self, z, w):
        for axis in self.grid.axes if "fluid" in w else ():
            w["fluid"][axis] += self.area_f[axis] * (np.roll(z, 1, axis=2 - axis) - z)

    def add_diagonal(self, inv_mass, out):
        out += self.stencil.diagonal_c

    def region_stencil(self):
        return self.stencil

    def apply_direct(self, z, out):
        self.stencil.apply(z, out)

    def add_others(self, w, out):
        pass

    def subtract_impulse(self, z, inv_mass, v):
        pushed = {"fluid": np.zeros_like(v)}
        Divergence.add_transpose(self, z, pushed)
        v -= inv_mass * pushed["fluid"]


class Plain:
    """The same rows without a word of what they can do."""

    def __init__(self, rows):
        self.name, self.damping, self.folded, self.target, self.shape = rows.name, False, False, None, rows.shape
        self.apply, self.add_transpose, self.add_diagonal = rows.apply, rows.add_transpose, rows.add_diagonal


def make_tank(open_right, wall=None, seed=0):
    """2D tank of 9 x 6 cells, open to the right if ``open_right``, with a wall of closed faces at x index ``wall``."""
    grid = Grid((9, 6, 1), 0.1, dimensions=2)
    rng = np.random.default_rng(seed)
    area_f, inv_mass = grid.face_field(), grid.face_field()
    u = {"fluid": grid.face_field()}
    for axis in grid.axes:
        faces = grid.interior_faces(axis)
        area_f[axis][faces] = rng.uniform(0.3, 1.0, area_f[axis][faces].shape)
        inv_mass[axis][faces] = rng.uniform(0.5, 2.0, area_f[axis][faces].shape)
        u["fluid"][axis][faces] = rng.standard_normal(area_f[axis][faces].shape)
        for index in (GHOSTS, GHOSTS + grid.cells[axis]):
            edge = [slice(None)] * 3
            edge[2 - axis] = index
            if not (open_right and axis == 0 and index > GHOSTS):
                inv_mass[axis][tuple(edge)] = 0.0
    if wall is not None:
        inv_mass[0][:, :, GHOSTS + wall] = 0.0
    return grid, area_f, inv_mass, u


@pytest.mark.parametrize(
    ("open_right", "wall", "singular"), [(True, None, 0), (False, None, 1), (True, 4, 1), (False, 4, 2)]
)
def test_null_spaces_are_found_and_made_compatible(open_right, wall, singular):
    """Closed regions with prescribed in- and outflow are incompatible: the mean divergence is what remains."""
    grid, area_f, inv_mass, w = make_tank(open_right, wall)
    row = Divergence(grid, area_f, inv_mass)
    multigrid = Multigrid(grid)
    multigrid.setup(row.stencil)
    system = CoupledSystem([VelocityBlock("fluid", inv_mass)], [row], {"pressure": multigrid})
    z = {"pressure": grid.cell_field()}
    before = grid.cell_field()
    row.apply(w, before)
    stats = system.solve(w, z, 1e-10)
    assert stats.regions_singular == singular
    assert (stats.incompatibility > 1e-3) == (singular > 0)
    after = grid.cell_field()
    row.apply(w, after)
    label = row.stencil.label.reshape(grid.padded)
    left = label[GHOSTS, GHOSTS, GHOSTS]
    for region in range(1, row.stencil.regions + 1):
        here = label == region
        is_singular = row.stencil.dirichlet_c[here].max() == 0
        mean = before[here].mean() if is_singular else 0.0
        np.testing.assert_allclose(after[here], mean, atol=1e-8)
        if is_singular:
            assert abs(z["pressure"][here].mean()) < 1e-12
    assert left == 1


def test_structured_kernel_equals_rows():
    """The stencil of the pressure rows is K B^-1 K^T: solved with and without it, the same answer."""
    grid, area_f, inv_mass, w = make_tank(open_right=True)
    blocks = [VelocityBlock("fluid", inv_mass)]
    results = []
    for structured in (True, False):
        row = Divergence(grid, area_f, inv_mass)
        row = row if structured else Plain(row)
        u, z = {"fluid": w["fluid"].copy()}, {"pressure": grid.cell_field()}
        CoupledSystem(blocks, [row]).solve(u, z, 1e-12)
        results.append((u["fluid"], z["pressure"]))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-9)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-9)


def test_null_space_is_tested_in_every_row():
    """A closed tank whose pressure also appears in another row is not singular."""
    grid, area_f, inv_mass, w = make_tank(open_right=False)
    row = Divergence(grid, area_f, inv_mass)
    blocks = [VelocityBlock("fluid", inv_mass), VelocityBlock("piston", np.array([2.0]))]
    for rows, singular in (([make_swelling(grid, area_f, inv_mass), Spring()], 0), ([row, Spring()], 1)):
        velocities = {"fluid": w["fluid"].copy(), "piston": np.array([0.7])}
        z = {"pressure": grid.cell_field(), "spring": np.zeros(1)}
        stats = CoupledSystem(blocks, rows).solve(velocities, z, 1e-10)
        assert stats.regions_singular == singular


def test_rows_beside_others_keep_their_kernel():
    """A spring that acts on the piston alone leaves the fluid to the kernel of the pressure rows; one that does not say
    so might act on the fluid. The answer is the same, and without a word of structure too."""
    grid, area_f, inv_mass, w = make_tank(open_right=False)
    blocks = [VelocityBlock("fluid", inv_mass), VelocityBlock("piston", np.array([2.0]))]
    results, counted = [], []

    class Counting(Pistons):
        def apply_direct(self, z, out):
            counted[-1] += 1
            super().apply_direct(z, out)

    for spring in (LocalSpring(), Spring()):
        for kept in (None, ["piston"]):
            counted.append(0)
            row = make_swelling(grid, area_f, inv_mass, Counting)
            velocities = {"fluid": w["fluid"].copy(), "piston": np.array([0.7])}
            z = {"pressure": grid.cell_field(), "spring": np.zeros(1)}
            CoupledSystem(blocks, [row, spring], kept=kept).solve(velocities, z, 1e-12, 5000)
            results.append({**velocities, **z})
    assert min(counted[:2]) > 20 and max(counted[2:]) == 0
    for found in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_allclose(found[name], value, atol=1e-8)


def test_a_solve_that_overflows_is_an_error():
    class Tiny:
        def apply(self, x, out):
            with np.errstate(invalid="ignore"):
                out[...] = x * np.array([1e-310, 0.0])

    with pytest.raises(PhysicsError, match="not a number"):
        ConjugateGradients(2).solve(Tiny(), np.array([1.0, 1.0]), np.zeros(2), 1e-6, 10, Identity())


def test_minres_refuses_a_preconditioner_that_forgets_the_residual():
    class Forgetful:
        def apply(self, x, out):
            out[...] = x * np.array([1.0, 0.0])

    with pytest.raises(PhysicsError, match="preconditioner is not positive"):
        Minres(2).solve(Identity(), np.array([0.0, 1.0]), np.zeros(2), 1e-6, 10, Forgetful())


class Spring:
    """One damped unknown that moves with the piston."""

    name, damping, folded, shape, target = "spring", True, False, (1,), None

    def apply(self, w, out):
        out[0] = w["piston"][0]

    def add_transpose(self, z, w):
        w["piston"][0] += z[0]

    def add_diagonal(self, inv_mass, out):
        out[0] += inv_mass["piston"][0]


class LocalSpring(Spring):
    """The same, and it says that it acts on nothing else."""

    def velocities(self):
        return ("piston",)


class Pistons(Divergence):
    """Divergence rows in tanks with pistons: K w = rows of the fluid + P v, P (cells, pistons) [m2]."""

    def __init__(self, grid, area_f, inv_mass, pushed):
        super().__init__(grid, area_f, inv_mass)
        self.pushed = pushed

    def apply(self, w, out):
        super().apply(w, out)
        self.add_others(w, out)

    def add_others(self, w, out):
        out.reshape(-1)[...] += self.pushed @ w["piston"]

    def add_transpose(self, z, w):
        super().add_transpose(z, w)
        w["piston"] += self.pushed.T @ z.reshape(-1)

    def add_diagonal(self, inv_mass, out):
        super().add_diagonal(inv_mass, out)
        out.reshape(-1)[...] += self.pushed**2 @ inv_mass["piston"]


def make_swelling(grid, area_f, inv_mass, kind=Pistons):
    """A tank with a piston that swells into all of its cells."""
    pushed = grid.cell_field()
    pushed[grid.interior] = 0.1
    return kind(grid, area_f, inv_mass, pushed.reshape(-1, 1))


class PistonOperator:
    """A0 + P M^-1 P^T"""

    def __init__(self, rows, inv_mass):
        self.rows, self.inv_mass = rows, inv_mass

    def apply(self, x, out):
        self.rows.stencil.apply(x, out)
        out += self.rows.pushed @ (self.inv_mass * (self.rows.pushed.T @ x))


class Brake:
    """A damping row on the pistons, folded: makes the system a saddle point."""

    name, damping, folded, target = "brake", True, True, None

    def __init__(self, count):
        self.shape = (count,)

    def apply(self, w, out):
        out[...] = w["piston"]

    def add_transpose(self, z, w):
        w["piston"] += z

    def add_diagonal(self, inv_mass, out):
        out += inv_mass["piston"]

    def add_gram(self, w, out):
        out["piston"] += w["piston"]

    def add_gram_diagonal(self, w):
        w["piston"] += 1.0


@pytest.mark.parametrize("saddle", [False, True])
@pytest.mark.parametrize(
    ("open_right", "walls", "pistons", "expected"),
    [
        (False, (4,), ((4, 1.0),), 1),
        (True, (4,), ((4, 1.0),), 0),
        (False, (3, 6), ((3, 100.0), (6, 0.01)), 1),
        (False, (3, 6), ((3, 1.0),), 2),
        (True, (3, 6), ((3, 1.0),), 1),
        (False, (3, 6), ((3, 1.0), (None, 1.0)), 1),
        (False, (), ((None, 1.0),), 0),
    ],
    ids=["joined", "joined-to-the-open", "light-and-heavy", "one-apart", "open-apart", "one-swells", "swells"],
)
def test_pockets_that_bodies_join_are_singular_together(open_right, walls, pistons, expected, saddle):
    """Null vectors are those of the dense matrix: sums over the pockets that a piston joins. A piston (x index of its
    wall, inverse mass) pushes out of one pocket into the next; without a wall it swells into the first."""
    grid, area_f, inv_mass, w = make_tank(open_right)
    for wall in walls:
        inv_mass[0][:, :, GHOSTS + wall] = 0.0
    pushed = np.zeros((int(np.prod(grid.padded)), len(pistons)))
    for column, (wall, _) in enumerate(pistons):
        part = pushed[:, column].reshape(grid.padded)
        inner = slice(GHOSTS, GHOSTS + 6)
        if wall is None:
            part[GHOSTS, inner, GHOSTS] = 0.03
        else:
            part[GHOSTS, inner, GHOSTS + wall - 1], part[GHOSTS, inner, GHOSTS + wall] = -0.1, 0.1
    light = np.array([inverse for _, inverse in pistons])
    row = Pistons(grid, area_f, inv_mass, pushed)
    operator = PistonOperator(row, light)
    blocks = [VelocityBlock("fluid", inv_mass), VelocityBlock("piston", light)]
    system = CoupledSystem(blocks, [row, Brake(len(pistons))] if saddle else [row])
    w["piston"] = np.ones(len(pistons))
    z = {"pressure": grid.cell_field()}
    before, after = grid.cell_field(), grid.cell_field()
    row.apply(w, before)
    stats = system.solve(w, z, 1e-9, 20000)
    row.apply(w, after)
    assert stats.regions_singular == expected
    assert (stats.incompatibility > 1e-3) == (expected > 0)

    active = np.flatnonzero(row.stencil.label)
    dense = np.zeros((active.size, active.size))
    unit, image = np.zeros(row.stencil.size), np.zeros(row.stencil.size)
    for column, cell in enumerate(active):
        unit[...] = 0.0
        unit[cell] = 1.0
        operator.apply(unit, image)
        dense[:, column] = image[active]
    value, vector = np.linalg.eigh(dense)
    null = vector[:, np.abs(value) < 1e-12]
    assert null.shape[1] == expected
    # what is left of the rows is their part in the null space, and the pressure has none
    kept = null @ (null.T @ before.reshape(-1)[active])
    np.testing.assert_allclose(after.reshape(-1)[active], kept, atol=1e-6)
    level = null.T @ z["pressure"].reshape(-1)[active]
    assert level == pytest.approx(np.zeros(expected), abs=1e-9 * np.abs(z["pressure"]).max())
    # masses matter little: eight decades apart they are the same vectors
    light *= (1e4, 1e-4)[: len(pistons)]
    found = system.null_space("pressure")
    found.setup()
    assert found.count == expected
    sums = null @ np.ones(expected)
    field = np.zeros(row.stencil.size)
    field[active] = sums
    found.remove(field)
    np.testing.assert_allclose(field, 0.0, atol=1e-6)


def left(rows, w):
    out = np.zeros(rows.shape)
    rows.apply(w, out)
    return out if rows.target is None else out - rows.target


@pytest.mark.parametrize("lightness", [1.0, 1e6, 1e8])
def test_light_velocities_meet_their_rows_in_more_passes(lightness):
    """Rounding ends a solve at 1e-14 of the lightness: the rows are met to 1e-11 of where they start all the same."""
    blocks = make_blocks(prescribed=False)
    blocks[1].inv_mass *= lightness
    rows = DenseRows("pressure", 12, seed=1, target=True)
    refinement = Refinement(CoupledSystem(blocks, [rows]), lightness)
    rng = np.random.default_rng(3)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    before = np.concatenate([w[name].reshape(-1) for name in VELOCITIES])
    _, expected = solve_densely(blocks, [rows], before)
    z, start = np.zeros(12), np.linalg.norm(left(rows, w))
    solves = refinement.solve(w, z, 1e-11 * start)
    assert (len(solves) > 1) == (lightness > 1e3)
    assert np.linalg.norm(left(rows, w)) <= 1e-11 * start
    np.testing.assert_allclose(z, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())
    assert not refinement.solve(w, z, 1e-11 * start)


def test_what_no_dual_can_change_is_not_asked_for():
    """A closed tank with flow through its sides: all but the mean of the rows is met."""
    grid, area_f, inv_mass, w = make_tank(open_right=False)
    rows, multigrid = Divergence(grid, area_f, inv_mass), Multigrid(grid)
    multigrid.setup(rows.stencil)
    system = CoupledSystem([VelocityBlock("fluid", inv_mass)], [rows], {"pressure": multigrid})
    mean = left(rows, w)[grid.interior].mean()
    assert abs(mean) > 1e-3
    z = grid.cell_field()
    norm = Refinement(system).residual(w)
    assert norm == pytest.approx(np.linalg.norm(left(rows, w)[grid.interior] - mean), rel=1e-12)
    Refinement(system, margin=0.5).solve(w, z, 1e-10 * norm)
    np.testing.assert_allclose(left(rows, w)[grid.interior], mean, atol=1e-10 * norm)
    # cells without unknowns have rows that nothing can meet
    inv_mass[:, :, GHOSTS] = 0.0
    inv_mass[1][:, GHOSTS + 1] = 0.0
    rows = Divergence(grid, area_f, inv_mass)
    found = CoupledSystem([VelocityBlock("fluid", inv_mass)], [rows], {"pressure": multigrid})
    assert np.abs(left(rows, w)[:, GHOSTS]).max() > 0.0
    assert not found.rows_left("pressure", w)[:, GHOSTS].any()


def test_a_target_below_rounding_is_an_error():
    blocks = make_blocks(prescribed=False)
    rows = DenseRows("pressure", 4, seed=1, target=True)
    rng = np.random.default_rng(3)
    w = {name: rng.standard_normal(shape) for name, shape in VELOCITIES.items()}
    refinement = Refinement(CoupledSystem(blocks, [rows]), 1e12)
    with pytest.raises(PhysicsError, match="left after 6 passes, wanted 1e-30; the lightest velocity has 1e-12"):
        refinement.solve(w, np.zeros(4), 1e-30)
    with pytest.raises(ValueError, match="one block of dual rows"):
        Refinement(CoupledSystem(blocks, [rows, DenseRows("more", 2, seed=2)]))
