"""Every refusal names the object, the value, the rule and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from undertow.errors import UserError
from undertow.scene import find_scene, toml

BAD = [
    # unknown keys and names
    ("objects.ball.shape.raduis=0.1", "objects.ball.shape: unknown key 'raduis'; did you mean 'radius'?"),
    ("fluid.materal='air'", "fluid: unknown key 'materal'; did you mean 'material'?"),
    ("fluid.material='watr'", "material = 'watr' is unknown; did you mean 'water'?"),
    ("time.stepper='second'", "time.stepper = 'second': unknown choice; did you mean 'second_order'?"),
    ("domain.sides={x_low='inflw'}", "domain.sides.x_low = 'inflw': unknown type 'inflw'; did you mean 'inflow'?"),
    ("domain.sides={x_lwo='wall'}", "sides has no 'x_lwo'; did you mean 'x_low'?"),
    ("objects.ball.shape={type='ball', radius=1}", "objects.ball.shape: unknown type 'ball'"),
    ("objects.ball.shape={radius=1}", "objects.ball.shape: the key 'type' is missing"),
    ("objects.ball.shape={type='sphere'}", "objects.ball.shape: the key 'radius' is missing; give radius [m]"),
    ("coupling='monolithic'", "coupling = 'monolithic': no body is moved by forces"),
    # wrong types and units
    ("objects.ball.shape.radius='10 cm'", "objects.ball.shape.radius = '10 cm': must be a number in m, not text"),
    ("fluid.density=true", "fluid.density = True: must be a number in kg/m3"),
    ("fluid.density=nan", "fluid.density = nan: must be a finite number in kg/m3"),
    ("domain.resolution='64'", "domain.resolution = '64': must be a whole number"),
    ("domain.resolution=6.5", "domain.resolution = 6.5: must be a whole number"),
    ("domain.resolution=0", "domain.resolution = 0: must be at least 1"),
    ("objects.ball.slip='yes'", "objects.ball.slip = 'yes': must be true or false"),
    ("domain.upper=5", "domain.upper = 5: must be a list of numbers in m"),
    (f"domain.upper=[1, {10**400}]", "domain.upper"),
    ("domain.upper=[1]", "domain.upper = [1]: must have 2 or 3 components, not 1"),
    ("objects=1", "objects = 1: must be a table"),
    ("name=3", "name = 3: a name starts with a letter"),
    ("name='a/b'", "name = 'a/b': a name starts with a letter"),
    ("description=3", "description = 3: must be text in quotes"),
    # ranges
    ("fluid.density=-1", "fluid.density = -1: must be positive; give a number in kg/m3"),
    ("fluid.density=0", "fluid.density = 0: must be positive"),
    ("fluid.viscosity=-1e-3", "fluid.viscosity = -0.001: must not be negative; give a number in Pa s"),
    ("objects.ball.shape.radius=-0.1", "objects.ball.shape.radius = -0.1: must be positive"),
    ("time.end=-1", "time.end = -1: must be positive"),
    ("time.end=1e9", "makes more than a million frames"),
    ("domain.upper=[-1,1,1]", "upper must lie above lower along x"),
    ("objects.ball.shape={type='torus', radius=0.1, tube=0.2}", "tube = 0.2 must be smaller than radius = 0.1"),
    ("objects.ball.shape={type='box', size=[0.1, 0, 0.1]}", "size must be positive"),
    ("objects.ball.shape={type='plane', normal=[0, 0, 0]}", "normal must not be zero"),
    ("objects.ball.rotation={axis=[0, 0, 0], degrees=3}", "axis must not be zero"),
    # curves and motions
    ("objects.ball.motion={type='velocity', linear={times=[0,1], values=[1,2]}}", "must have vector values"),
    ("objects.ball.motion={type='velocity', linear={times=[1,0], values=[[0,0,0],[1,0,0]]}}", "times must increase"),
    ("objects.ball.motion={type='velocity', linear={times=[0], values=[[0,0,0],[1,0,0]]}}", "has 1 times and 2 values"),
    ("objects.ball.motion={type='keyframes', times=[0,1], positions=[[0,0,0]]}", "has 2 times and 1 positions"),
    ("objects.ball.motion={type='keyframes', times=[0], positions=[[0,0,0]]}", "differ from the first keyframe"),
    ("objects.ball.shape={type='mesh_sequence', files=['a', 'b'], frame_rate=1}", "carries its own motion"),
    # one thing against another
    ("objects.source.position=[5, 5, 5]", "objects.source.position = [5.0, 5.0, 5.0]: wholly outside the domain"),
    ("domain.sides={x_low={type='inflow', velocity=[1,0,0]}}", "an inflow into a closed domain"),
    ("domain.sides={x_low='periodic'}", "sides.x_low is periodic but x_high is not"),
    ("domain.sides={x_low={velocity=[1,0,0], type='wall'}}", "sides.x_low.velocity must lie in the plane of the wall"),
    ("domain.sides={x_low={velocity=[0,1,0], slip=true, type='wall'}}", "has no effect on a slip wall"),
    (
        "domain.sides={x_low={type='inflow', velocity=[1,0,0], profile='table'}, y_high='open'}",
        "profile = 'table' needs both coordinate and values",
    ),
    (
        "domain.sides={x_low={type='inflow', velocity=[1,0,0], values=[1.0]}, y_high='open'}",
        "values has no effect with profile = 'uniform'",
    ),
    (
        "domain.sides={y_low={type='inflow', velocity=[0,1,0], profile='parabolic'}, x_low='open', z_low='open'}",
        "needs no-slip walls at both ends",
    ),
    ("domain.sides={x_low={type='inflow', velocity=[-1,0,0]}, y_high='open'}", "points out of the domain"),
    ("time={end=1, fixed_step=0.01, cfl=0.5}", "cfl has no effect beside fixed_step"),
    ("fluid={limiter=false, advection='eno3'}", "limiter has no effect with advection = 'eno3'"),
    ("fluid={viscosity_form='coupled'}", "viscosity_form has no effect without viscosity"),
    ("fluid={no_slip='extra_faces'}", "no_slip has no effect without viscosity"),
    ("gravity=[0, 1]", "gravity = [0.0, 1.0]: must have 3 components in a 3D scene"),
    ("probes.p={type='point', position=[9, 0, 0]}", "probes.p: the point [9.0, 0.0, 0.0] is outside the domain"),
    ("probes.p={type='gauge', position=[0.5, 0.5, 0.5]}", "probes.p: a wave gauge needs water"),
    ("probes.p={type='flux', axis='x', position=7}", "probes.p.position = 7: outside the domain"),
    ("probes.p={type='force', objects=['bal']}", "probes.p.objects: there is no solid 'bal'; did you mean 'ball'?"),
    ("time={end=1, fixed_step=0.1, max_step=0.1}", "max_step has no effect beside fixed_step"),
    ("objects.source.stop=0.0", "objects.source.stop = 0.0: must be positive"),
    # magnitudes, by kind of quantity
    ("objects.ball.shape.radius=1e300", "radius = 1e+300: must be at most 1e+09 in magnitude"),
    ("objects.ball.shape.radius=1e-300", "objects.ball.shape.radius = 1e-300: must be at least 1e-09"),
    ("domain.upper=[1e300, 1e300, 1e300]", "= [1e+300, 1e+300, 1e+300]: must be at most 1e+09 in magnitude"),
    ("objects.ball.shape={type='box', size=[1, 1e-300, 1]}", "size = [1, 1e-300, 1]: must be 0 or at least 1e-09"),
    ("objects.ball.position=[1e30, 0, 0]", "objects.ball.position = [1e+30, 0, 0]: must be at most 1e+09 in magnitude"),
    ("fluid={density=1e-300}", "fluid.density = 1e-300: must be at least 1e-06; give a number in kg/m3"),
    ("fluid={density=1000, viscosity=1e-300}", "fluid.viscosity = 1e-300: must be 0 or at least 1e-12"),
    ("fluid.tolerance=2", "fluid.tolerance = 2: must be at most 0.5"),
    ("fluid.tolerance=1e-300", "fluid.tolerance = 1e-300: must be at least 1e-16"),
    ("solids.tolerance=2", "solids.tolerance = 2: must be at most 0.5"),
    ("seed=99999999999999999999", "seed = 99999999999999999999: must be at most 9223372036854775807"),
    ("domain.resolution=1000000000", "domain.resolution = 1000000000: must be at most 1000000"),
    ("gravity=[0, 1e200, 0]", "gravity = [0, 1e+200, 0]: must be at most 1e+12 in magnitude; give a number in m/s2"),
    ("objects.ball.rotation={axis=[1e-200, 0, 0], degrees=3}", "is too short to tell its direction"),
    ("objects.ball.color=[1, 2, 0]", "objects.ball.color = [1, 2, 0]: must be at most 1 in magnitude"),
    ("objects.ball.color=[1, -0.5, 0]", "objects.ball.color = [1, -0.5, 0]: must not be negative"),
    ("name='" + "a" * 10_000 + "'", "a name has at most 100 letters, not 10000"),
    ('description="a\\u0000b"', "holds the letter NUL"),
    ("objects.ball.shape={type='box', size=[1e6, 0.1, 0.1]}", "is 1e+06 m long and 0.1 m thick; a shape is at most"),
    ("objects.ball.shape={type='box', size=[0.1, 1e-9, 0.1]}", "is 0.1 m long and 1e-09 m thick"),
    ("objects.ball.shape={type='cylinder', radius=1e-6, length=10}", "is 10 m long and 1e-06 m thick"),
    # one thing beside another
    ("fluid={material='water', density=900}", "density = 900 beside material = 'water', whose density is 998.2"),
    (
        "objects.ball={type='rigid_body', shape={type='sphere', radius=0.1}, position=[0.5, 0.5, 0.5], material='oak', "
        "density=900}",
        "objects.ball: density = 900 beside material = 'oak', whose density is 700",
    ),
    ("view.field='density'", "view.field: 'density' is that of particles"),
    # the assignment itself
    ("objects.bal.slip=true", "there is no objects.bal; did you mean 'ball'?"),
    ("objects.ball.shape.radius=wide", "'wide' is not a TOML value; text needs quotes"),
    ("nothing", "must have the form a.b=value"),
    ("name.x=1", "name is a value, not a table"),
]


@pytest.mark.parametrize(("assignment", "message"), BAD, ids=[a for a, _ in BAD])
def test_bad_values_are_refused_in_words(assignment: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        find_scene("smoke-sphere", assignments=[assignment])
    assert message in str(caught.value)
    assert "pydantic" not in str(caught.value) and "validation error" not in str(caught.value)


BAD_2D = [
    ("gravity=[0, 0, 1]", "gravity = [0.0, 0.0, 1.0]: a 2D scene has no z"),
    ("domain.sides={z_low='wall'}", "a 2D scene has no z sides"),
    ("domain.resolution_along='z'", "resolution_along = 'z' in a 2D scene"),
    ("domain.lower=[0, 0, 0]", "lower has 3 components and upper 2"),
    ("probes.p={type='flux', axis='z', position=0}", "a 2D scene has no z"),
    ("output.fields=['smoke']", "output.fields: 'smoke' needs smoke; add a [smoke] table"),
    ("probes.p={type='point', position=[0.5, 0.5], fields=['smoke']}", "smoke and temperature need smoke"),
    (
        "objects.s={type='emitter', shape={type='sphere', radius=0.1}, position=[0.5, 0.5]}",
        "objects.s: an emitter needs smoke",
    ),
    (
        "objects.s={type='rigid_body', shape={type='sphere', radius=0.1}, position=[0, 0], rotation={axis=[1,0,0]}}",
        "in a 2D scene bodies turn about z only",
    ),
]


@pytest.mark.parametrize(("assignment", "message"), BAD_2D, ids=[a for a, _ in BAD_2D])
def test_bad_values_of_a_2d_scene(assignment: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        find_scene("lid-cavity", assignments=[assignment])
    assert message in str(caught.value)


def test_files_that_are_no_scenes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no such scene file"):
        find_scene(tmp_path / "none.toml")
    with pytest.raises(UserError, match=r"no such scene file"):
        find_scene(tmp_path / "none.py")
    with pytest.raises(UserError, match=r"scene 'lid-cavty': not in the gallery .* did you mean 'lid-cavity'"):
        find_scene("lid-cavty")
    (tmp_path / "bad.toml").write_text("name = [")
    with pytest.raises(UserError, match=r"bad.toml: not valid TOML"):
        find_scene(tmp_path / "bad.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"cannot be read as a scene file"):
        find_scene(tmp_path / "bad.toml")
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(3)\n")
    with pytest.raises(UserError, match=r"ends.py: ended the program \(exit status 3\) before a scene was defined"):
        find_scene(tmp_path / "ends.py")
    with pytest.raises(UserError, match=r"^scene 'aaa.*aaa...': no path has 5000 letters"):
        find_scene("a" * 5000)
    with pytest.raises(UserError, match=r"the key 'name' is missing"):
        toml.read("")
    with pytest.raises(UserError, match=r"--frames 0: must be at least 1"):
        find_scene("lid-cavity", frames=0)


SOLIDS = """
name = "solids"
[time]
end = 1.0
[objects.floor]
type = "rigid_body"
shape = { type = "plane", normal = [0.0, 1.0, 0.0] }
position = [0.0, 0.0, 0.0]
[objects.box]
type = "rigid_body"
shape = { type = "box", size = [0.2, 0.2, 0.2] }
position = [0.0, 0.3, 0.0]
density = 1000.0
[objects.arm]
type = "rigid_body"
shape = { type = "box", size = [0.2, 0.2, 0.2] }
position = [1.0, 0.3, 0.0]
mass = 2.0
[objects.pin]
type = "joint"
kind = "hinge"
child = "arm"
position = [1.0, 0.3, 0.0]
"""

BAD_SOLIDS = [
    ("objects.box.density=0", "objects.box.density = 0: must be positive; give a number in kg/m3"),
    ("objects.arm.mass=-1", "objects.arm.mass = -1: must be positive"),
    ("objects.box.mass=1", "objects.box: has both a density and a mass"),
    ("objects.box.material='oka'", "material = 'oka' is unknown; did you mean 'oak'?"),
    ("objects.floor.density=1", "objects.floor: a plane has no end and no mass"),
    ("objects.box.motion={type='velocity', linear=[1,0,0]}", "has a density or mass and a prescribed motion"),
    ("objects.floor.velocity=[1,0,0]", "velocity and angular_velocity start a dynamic body; give it a density"),
    ("objects.box.restitution=1.5", "objects.box.restitution = 1.5: must be at most 1"),
    ("objects.box.friction=-0.1", "objects.box.friction = -0.1: must not be negative"),
    ("objects.box.shape={type='hull', points=[]}", "must be a non-empty list of points in m"),
    ("objects.box.shape={type='hull', points=[[0,0],[1,0],[0,1]]}", "must have 3 components"),
    ("objects.box.shape={type='gear', radius=1, thickness=1, teeth=3}", "a gear needs at least 4 teeth"),
    ("objects.box.shape={type='gear', radius=1, thickness=1, depth=0.6}", "must be between 0.05 and 0.5"),
    ("objects.box.shape={type='gear', radius=1, thickness=1, hole=0.9}", "hole = 0.9: reaches the teeth"),
    ("objects.pin.child='amr'", "objects.pin: there is no rigid body 'amr'; did you mean 'arm'?"),
    ("objects.pin.parent='arm'", "parent and child are both 'arm'"),
    ("objects.pin.child='floor'", "objects.pin: joins no dynamic body"),
    ("objects.pin.kind='hinged'", "unknown choice; did you mean 'hinge'?"),
    ("objects.pin.lower=10\nobjects.pin.upper=-10", "lower = 10 must be below upper = -10; swap them"),
    ("objects.pin.lower=10", "the joint starts at 0, outside its limits"),
    ("objects.pin.kind='planar'\nobjects.pin.upper=10", "objects.pin: upper has no effect on kind = 'planar'"),
    ("objects.pin.axes.x.lower=-10", "objects.pin: axes.x has no effect on kind = 'hinge': use lower, upper and"),
    ("objects.pin.kind='ball'\nobjects.pin.axes.w.lower=-1", "objects.pin: axes.w has no effect on kind = 'ball': its"),
    ("objects.pin.kind='ball'\nobjects.pin.axes.x.lower=1", "objects.pin.axes.x: the joint starts at 0, outside its"),
    (
        "objects.pin.kind='fixed'\nobjects.pin.control={target=0, stiffness=1, damping=1}",
        "objects.pin: control has no effect on kind = 'fixed': it belongs to hinge and prismatic joints; remove it",
    ),
    ("objects.pin.control={stiffness=1, damping=1}", "objects.pin.control: needs a target (angle or displacement) or"),
    ("objects.pin.kind='ball'\nobjects.pin.lower=-10", "objects.pin: lower has no effect on kind = 'ball': it belongs"),
    (
        "objects.pin.kind='ball'\nobjects.pin.control={target=1, stiffness=1, damping=1}",
        "objects.pin: control has no effect on kind = 'ball': it belongs to hinge and prismatic joints; "
        "give it to one of axes.x, axes.y, axes.z",
    ),
    ("objects.pin.kind='universal'", "second_axis belongs to kind = 'universal'"),
    ("objects.pin.axis=[0,0,0]", "axis must not be zero"),
    ("objects.pin.break_force=0", "objects.pin.break_force = 0: must be positive; give a number in N"),
    ("objects.pin.control={target=[1,0,0], stiffness=1, damping=1}", "must be a number in degrees or m"),
    ("objects.pin.control={target={times=[0], values=[[1,0]]}, stiffness=1, damping=1}", "must have single numbers"),
    ("fluid.density=2", "fluid has no effect without a [domain]"),
    ("smoke={}", "smoke has no effect without a [domain]"),
    ("output.fields=['velocity']", "output.fields: there is no fluid"),
    ("view.field='speed'", "view.field: there is no fluid"),
    ("time.stepper='second_order'", "time.stepper = 'second_order': belongs to a fluid"),
    ("time.cfl=0.5", "time.cfl = 0.5: counts cells of a fluid; add a [domain], or use max_step"),
    ("objects.box.slip=true", "objects.box.slip: there is no fluid to slide along it; add a [domain], or remove slip"),
    ("probes={p={type='flux', axis='x', position=0}}", "probes.p: there is no fluid to measure"),
    ("probes={p={type='force', objects=['bxo']}}", "there is no solid 'bxo'; did you mean 'box'?"),
    ("domain={upper=[1,1,1], resolution=8}", "objects.box: a rigid body in fluid needs coupling = 'mono"),
]


@pytest.mark.parametrize(("assignments", "message"), BAD_SOLIDS, ids=[a for a, _ in BAD_SOLIDS])
def test_bad_solids_are_refused(assignments: str, message: str) -> None:
    data = toml.parse(SOLIDS)
    toml.override(data, assignments.split("\n"))
    with pytest.raises(UserError) as caught:
        toml.scene_from_dict(data)
    assert message in str(caught.value)


def test_a_scene_in_which_nothing_moves_is_refused() -> None:
    with pytest.raises(UserError, match="nothing moves"):
        toml.read('name = "still"\n[time]\nend = 1.0\n')
