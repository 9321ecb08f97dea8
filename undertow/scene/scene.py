"""The whole scene: domain, time, fluid, smoke, objects, probes, output and view, checked against each other."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, model_validator

from undertow.scene.base import (
    Acceleration,
    Count,
    Decay,
    Density,
    Flag,
    Kelvin,
    Model,
    Name,
    NonNegativeNumber,
    Point,
    PositiveNumber,
    Rate,
    Seconds,
    Seed,
    Text,
    Tolerance,
    Velocity,
    Viscosity,
    complain,
    validate,
)
from undertow.scene.coupled import check_coupling, check_name
from undertow.scene.curves import AccelerationCurve
from undertow.scene.domain import AXES, ContactAngles, Domain, Inflow, Open, Outflow, Wall, values_of
from undertow.scene.faults import suggest
from undertow.scene.implicit_tension import check_implicit_tension
from undertow.scene.keys import assign
from undertow.scene.loads import check_loads
from undertow.scene.materials import MATERIALS, check_density, default_density, fill_in, fill_in_pair
from undertow.scene.monolithic import Lumped, Monolithic, check_nodes_in_fluid, check_solves
from undertow.scene.motion import Keyframes, PrescribedVelocity, Static
from undertow.scene.objects import (
    Bubble,
    Drain,
    Emitter,
    Joint,
    RigidBody,
    SceneObject,
    SphFluid,
    Water,
    WaterSource,
    check_groups,
)
from undertow.scene.probes import (
    FaceProbe,
    ForceProbe,
    GaugeProbe,
    LineProbe,
    PointProbe,
    Probe,
    check_force_probes,
    check_probes,
)
from undertow.scene.renamed import check_renamed
from undertow.scene.rigid_fluid import RigidFluid
from undertow.scene.shells import check_shells
from undertow.scene.soft import Cloth, Rope, Soft, SoftBody, check_soft
from undertow.scene.sph import Sph, check_sph, check_without_sph
from undertow.scene.two_fluids import check_two_fluids
from undertow.scene.waves import Beach, WaveMaker, check_waves

Zone = Beach | WaveMaker
"""Objects that are regions along the sides of the domain."""

MOST_OBJECTS = 100_000
"""Of a scene: more take longer to describe than a solver of this kind can be of use for."""

FARTHEST = 10.0
"""Lengths of the domain that a body may start outside of it."""

FrameField = Literal["velocity", "pressure", "smoke", "temperature", "vorticity", "divergence", "level_set"]


class Time(Model):
    """How long, how often a frame, how large a step."""

    end: Seconds = Field(description="simulated time [s]")
    frame_rate: Rate = Field(30.0, description="frames per second of simulated time [1/s]")
    cfl: PositiveNumber = Field(1.0, description="largest u dt / dx [-]")
    max_step: Seconds | None = Field(None, description="largest time step [s]; absent: the frame interval")
    fixed_step: Seconds | None = Field(
        None, description="time step [s] in place of cfl and max_step, shortened evenly to land on frames"
    )
    stepper: Literal["first_order", "second_order", "implicit"] = Field(
        "first_order", description="order in time, or the implicit Newton iteration of Schroeder 2011, 5.7"
    )

    @model_validator(mode="after")
    def _check(self) -> Time:
        if self.end * self.frame_rate > 1e6:
            raise complain(f"end = {self.end:g} makes more than a million frames; lower end or frame_rate")
        if self.fixed_step is not None and self.max_step is not None:
            raise complain("max_step has no effect beside fixed_step; remove one of them")
        if self.fixed_step is not None and self.cfl != 1.0:
            raise complain("cfl has no effect beside fixed_step; remove one of them")
        return self

    @property
    def frames(self) -> int:
        """Index of the last frame; frame 0 is the initial state."""
        return max(1, math.ceil(self.end * self.frame_rate - 1e-6))

    def frame_time(self, index: int) -> float:
        """Time of a frame [s]; the last one is at ``end`` when that is no whole number of frame intervals."""
        return self.end if index == self.frames else index / self.frame_rate


class OtherFluid(Model):
    """What is beyond the surface of water, solved for too: two-phase flow."""

    material: Text | None = Field(None, description="name of a material that gives density and viscosity")
    density: Density = Field(MATERIALS["air"].density, description="density [kg/m3]; absent: of air")
    viscosity: Viscosity = Field(0.0, description="dynamic viscosity [Pa s]; 0: inviscid")
    atmosphere: PositiveNumber | None = Field(
        None,
        description="absolute pressure beyond open sides [Pa], such as 101325: every body of it keeps p V; absent: all "
        "keep V",
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in_material(cls, data: Any) -> Any:
        return fill_in(data)

    @model_validator(mode="after")
    def _check(self) -> OtherFluid:
        check_density(self.material, self.density)
        return self


class Fluid(Model):
    """One incompressible fluid that fills the domain outside the solids."""

    material: Text | None = Field(None, description="name of a material that gives density and viscosity")
    density: Density = Field(
        default_density(liquid=False), description="density [kg/m3]; absent: of water under a free surface, else of air"
    )
    viscosity: Viscosity = Field(0.0, description="dynamic viscosity [Pa s]; 0: inviscid")
    advection: Literal["semi_lagrangian", "maccormack", "eno3", "none"] = Field(
        "maccormack", description="transport of velocity and smoke; none: Stokes flow"
    )
    limiter: Flag = Field(True, description="maccormack: false switches its limiter off (smooth flows only)")
    viscosity_form: Literal["split", "coupled"] = Field(
        "split",
        description="viscosity before the pressure, or both in one system (Schroeder 2011, 5.30, 5.31), with bodies "
        "that the fluid moves too",
    )
    no_slip: Literal["wall_rows", "extra_faces"] = Field(
        "wall_rows",
        description="no-slip on solids: second order, or the extra faces of Schroeder 2011, figure 5.2, which bodies "
        "have with coupling = 'lumped'",
    )
    acceleration: Acceleration = Field((0.0, 0.0, 0.0), description="uniform acceleration that drives the fluid [m/s2]")
    initial_velocity: Velocity = Field((0.0, 0.0, 0.0), description="velocity at t = 0 [m/s]")
    initial_vortices: NonNegativeNumber = Field(
        0.0, description="vortices at t = 0: this times sin(2 pi x / Lx) sin(2 pi y / Ly) as stream function [m2/s]"
    )
    tolerance: Tolerance = Field(1e-6, description="relative true residual of the pressure solve [-]")
    air: OtherFluid | None = Field(
        None, description="a second fluid beyond the surface of water, such as { material = 'air' }; absent: emptiness"
    )
    pair: Text | None = Field(
        None, description="name of two fluids that gives fluid, fluid.air and surface.tension, such as 'water-air'"
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_in_material(cls, data: Any) -> Any:
        return fill_in(data)

    @model_validator(mode="after")
    def _check(self) -> Fluid:
        check_density(self.material, self.density)
        if not self.limiter and self.advection != "maccormack":
            raise complain(f"limiter has no effect with advection = {self.advection!r}; remove it or use 'maccormack'")
        for key, default in (("viscosity_form", "split"), ("no_slip", "wall_rows")):
            if self.viscosity == 0 and getattr(self, key) != default:
                raise complain(f"{key} has no effect without viscosity; remove it or give a viscosity")
        return self


_OF_A_SURFACE = {
    "second_order": "of waves the step of water keeps the amplitude, |lambda|^2 = 1 for omega dt < 2; transport by "
    "u^{n+1/2} has |lambda|^2 = 1 - (omega dt)^2 / 2 and is unstable from omega dt = 1.41 on",
    "implicit": "its passes would move the surface again and again, and a cell that changes from water to air and back "
    "changes the residual by a jump, so that they do not converge",
}
"""Why water has not these steppers."""


class Smoke(Model):
    """Smoke and heat carried by the fluid (Fedkiw, Stam and Jensen 2001); its presence turns smoke on. In water it is a
    dye, without buoyancy unless that is given.

    Acceleration along gravity: (buoyancy_density * density - buoyancy_temperature * (temperature - ambient)).
    """

    buoyancy_density: NonNegativeNumber = Field(0.1, description="downward acceleration per unit smoke density [m/s2]")
    buoyancy_temperature: NonNegativeNumber = Field(0.5, description="upward acceleration per kelvin [m/s2/K]")
    ambient_temperature: Kelvin = Field(293.0, description="temperature of clean air [K]")
    cooling: Decay = Field(0.0, description="rate at which heat is lost [1/s]")
    dissipation: Decay = Field(0.0, description="rate at which smoke fades [1/s]")
    confinement: NonNegativeNumber = Field(0.0, description="vorticity confinement epsilon [-]")


class Surface(Model):
    """The free surface of water: its tension, and how it is followed (Enright et al. 2002)."""

    tension: NonNegativeNumber = Field(
        0.0, description="surface tension [N/m], of water against air 0.0728; it limits the step (limit 'capillary')"
    )
    tension_step: Literal["explicit", "implicit"] = Field(
        "explicit",
        description="implicit: its change over the step is part of the solve, and it does not limit the step",
    )
    particles: Flag = Field(
        True,
        description="false: level set alone, which loses thin sheets and drops; absent beside fluid.air, and with "
        "implicit tension: false",
    )
    particles_per_cell: Count | None = Field(
        None, description="in the cells about the surface; absent: 32 in 2D, 16 in 3D"
    )
    volume_tracking: Flag = Field(
        True,
        description="false: what the level set makes or loses of the water is neither found nor corrected, and none "
        "becomes spray",
    )
    volume_correction: Flag = Field(
        False, description="true: the surface is shifted to keep the volume; see the ledger"
    )
    volume_bound: PositiveNumber = Field(
        0.5, description="a closed domain that gains or loses more than this share of its water stops the run [-]"
    )


class Solids(Model):
    """How dynamic bodies are advanced (Schroeder 2011, chapters 2 and 4)."""

    orientation_order: Literal[1, 2, 3] = Field(2, description="order of the orientation update (4.4.1, appendix A)")
    energy_fix: Flag = Field(True, description="false: orientations are not corrected to keep the energy (2.2)")
    clamp: Flag = Field(True, description="false: impulses are not clamped to keep the energy from growing (2.3)")
    tolerance: Tolerance = Field(
        1e-5, description="of the contact solve: change of velocity in a sweep / largest violation before it [-]"
    )
    iterations: Count = Field(
        50,
        description="most sweeps up and down of a contact solve of up to five bodies on each other; more by the square "
        "of the height",
    )
    joint_solver: Literal["global", "pairwise"] = Field(
        "global", description="all joints at once (appendix C), or one after the other in sweeps (4.5.1)"
    )
    sleep: Seconds | None = Field(
        None,
        description="groups of touching bodies that have rested for so long are left alone until something reaches "
        "them [s]; absent: never; of rigid bodies without fluid and soft bodies",
    )


class Output(Model):
    """What is written, and how often."""

    fields: tuple[FrameField, ...] | None = Field(
        None, description="fields of grid.vti; absent: velocity, pressure, and smoke and temperature where present"
    )
    every: Count = Field(1, description="write every n-th frame")
    bodies: Literal["steps", "frames"] = Field("steps", description="rows of bodies.csv: at every step, or at frames")
    checkpoint_frames: Count = Field(10, description="checkpoint at least every n frames")
    checkpoint_seconds: Seconds = Field(60.0, description="and at the first frame after so long computing [s]")


class Camera(Model):
    """Where a 3D picture is taken from."""

    position: Point = Field(description="position of the camera [m]")
    look_at: Point = Field(description="point in the middle of the picture [m]")


class View(Model):
    """How pictures look at the scene."""

    camera: Camera | None = Field(None, description="camera of 3D pictures; absent: chosen from the domain")
    field: Literal["vorticity", "speed", "pressure", "smoke", "temperature", "level_set", "density"] | None = Field(
        None, description="field shown; absent: smoke where present, else vorticity; density: of particles"
    )


class Scene(Model):
    """A frozen, validated description of one simulation."""

    name: Name = Field(description="a plain name; run folders are called after it")
    description: Text = Field("", description="one line: what it shows")
    source: Text = Field("", description="figure or paper it comes from")
    cost: Text = Field("", description="how long it takes at its default resolution")
    coupling: Text = Field("none", description="coupling method; none: solids move as prescribed")
    seed: Seed = Field(0, description="seed of all random numbers")
    gravity: AccelerationCurve = Field((0.0, -9.81, 0.0), description="gravity, a vector or a curve [m/s2]")
    domain: Domain | None = Field(
        None, description="the box of fluid, such as { upper = [1, 1], resolution = 64 }; absent: solids alone"
    )
    time: Time = Field(description="duration and frames, such as { end = 4.0 }")
    fluid: Fluid = Field(Fluid(), description="the fluid of the domain")
    surface: Surface = Field(Surface(), description="how the free surface of water is followed")
    solids: Solids = Field(Solids(), description="how dynamic bodies are advanced")
    soft: Soft = Field(Soft(), description="how soft bodies, cloth and ropes are advanced")
    sph: Sph = Field(Sph(), description="how a fluid of particles is computed")
    monolithic: Monolithic = Field(Monolithic(), description="how fluid and bodies are solved together")
    lumped: Lumped = Field(Lumped(), description="how fluid is lumped on bodies")
    rigid_fluid: RigidFluid = Field(RigidFluid(), description="how bodies are solved as fluid")
    smoke: Smoke | None = Field(None, description="smoke; absent: none")
    objects: dict[Name, SceneObject] = Field({}, description="solids and sources by name")
    probes: dict[Name, Probe] = Field({}, description="probes by name")
    output: Output = Field(Output(), description="what is written")
    view: View = Field(View(), description="how pictures look at it")

    @property
    def dimensions(self) -> int:
        """2 or 3: that of the domain, and without one that of the positions."""
        if self.domain is not None:
            return self.domain.dimensions
        return max((len(item.position) for item in self.objects.values() if not isinstance(item, Zone)), default=3)

    def need_domain(self) -> Domain:
        """The domain of a scene that has a fluid."""
        if self.domain is None:
            raise ValueError(f"{self.name}: the scene has no fluid")
        return self.domain

    @cached_property
    def joints(self) -> dict[str, Joint]:
        """The joints by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, Joint)}

    @cached_property
    def bodies(self) -> dict[str, RigidBody]:
        """The solids by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, RigidBody)}

    @cached_property
    def shells(self) -> dict[str, RigidBody]:
        """The solids that are thin shells by name, in order."""
        return {name: body for name, body in self.bodies.items() if body.shape.sheet() is not None}

    @property
    def has_nodes(self) -> bool:
        """True when solids are solved for by nodes: soft ones, and in fluid thin shells."""
        return bool(self.softs) or (self.domain is not None and bool(self.shells))

    @cached_property
    def softs(self) -> dict[str, SoftBody | Cloth | Rope]:
        """The soft bodies, cloths and ropes by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, SoftBody | Cloth | Rope)}

    @property
    def tears(self) -> bool:
        """True when soft bodies, cloth or ropes can tear."""
        return any(item.tear is not None for item in self.softs.values())

    @cached_property
    def waters(self) -> dict[str, Water]:
        """The bodies of water at t = 0 by name, in order; with one the fluid has a free surface."""
        return {name: item for name, item in self.objects.items() if isinstance(item, Water)}

    @cached_property
    def water_regions(self) -> dict[str, WaterSource | Drain]:
        """Sources and drains of water by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, WaterSource | Drain)}

    @cached_property
    def bubbles(self) -> dict[str, Bubble]:
        """The bubbles at t = 0 by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, Bubble)}

    @cached_property
    def wave_zones(self) -> dict[str, Beach | WaveMaker]:
        """Makers of waves and beaches by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, Zone)}

    @property
    def mixes_viscosities(self) -> bool:
        """True when water has a viscosity of its own, which it carries along."""
        waters = (item for item in self.objects.values() if isinstance(item, Water | WaterSource))
        return any(item.viscosity is not None for item in waters)

    def viscosity_of(self, item: Water | WaterSource) -> float:
        """Of a body or source of water [Pa s]."""
        return self.fluid.viscosity if item.viscosity is None else item.viscosity

    @property
    def is_viscous(self) -> bool:
        """True when some of the fluid has a viscosity."""
        waters = (item for item in self.objects.values() if isinstance(item, Water | WaterSource))
        if self.fluid.air is not None and self.fluid.air.viscosity > 0:
            return True
        return self.fluid.viscosity > 0 or any(self.viscosity_of(item) > 0 for item in waters)

    @property
    def has_surface(self) -> bool:
        """True when the fluid is a liquid under a free surface."""
        if self.sph_fluids:
            return False
        return bool(self.waters) or any(isinstance(item, WaterSource) for item in self.objects.values())

    @cached_property
    def sph_fluids(self) -> dict[str, SphFluid]:
        """The fluids of particles at t = 0 by name, in order; with one there is no fluid on a grid."""
        return {name: item for name, item in self.objects.items() if isinstance(item, SphFluid)}

    @cached_property
    def emitters(self) -> dict[str, Emitter]:
        """The sources of smoke by name, in order."""
        return {name: item for name, item in self.objects.items() if isinstance(item, Emitter)}

    def __repr__(self) -> str:
        """One line: a scene as a whole is ``toml.write(scene)``."""
        domain = f", resolution {self.domain.resolution}" if self.domain else ""
        return (
            f"Scene({self.name!r}, {self.dimensions}D{domain}, {len(self.objects)} objects, coupling "
            f"{self.coupling!r}, {self.time.end:g} s)"
        )

    def __str__(self) -> str:
        return repr(self)

    def replace(self, key: str, value: Any) -> Scene:
        """The same scene with another value of a dotted key, checked as a whole:
        ``scene.replace("objects.ball.density", 300.0)``."""
        data = self.model_dump(exclude_none=True)
        assign(data, key, value.model_dump(exclude_none=True) if isinstance(value, Model) else value, f"replace {key}")
        return validate(type(self), data, f"replace {key}")

    @model_validator(mode="before")
    @classmethod
    def _count_objects(cls, data: Any) -> Any:
        """Too many objects are refused before any of them is looked at."""
        check_renamed(data)
        objects = data.get("objects") if isinstance(data, dict) else None
        if isinstance(objects, dict) and len(objects) > MOST_OBJECTS:
            raise complain(
                f"objects: {len(objects)} of them, at most {MOST_OBJECTS} are simulated; join those that move together "
                "in one mesh"
            )
        return fill_in_pair(data)

    @model_validator(mode="after")
    def _check(self) -> Scene:
        if self.has_surface and "density" not in self.fluid.model_fields_set:
            fluid = self.fluid.model_copy(update={"density": default_density(liquid=True)})
            object.__setattr__(self, "fluid", fluid)
        level_set_alone = self.fluid.air is not None or self.surface.tension_step == "implicit"
        if level_set_alone and "particles" not in self.surface.model_fields_set:
            # markers hold the interface where it was before its volume was corrected
            object.__setattr__(self, "surface", self.surface.model_copy(update={"particles": False}))
        if self.has_surface and self.smoke is not None:
            # dye in a liquid has no weight and its heat no lift, unless they are given
            none = {"buoyancy_density": 0.0, "buoyancy_temperature": 0.0}
            left = {key: value for key, value in none.items() if key not in self.smoke.model_fields_set}
            object.__setattr__(self, "smoke", self.smoke.model_copy(update=left))
        check_name(self.coupling, f"coupling = {self.coupling!r}")
        if self.fluid.advection == "eno3" and self.time.cfl > 1:
            raise complain(f"time.cfl = {self.time.cfl:g}: eno3 is stable up to 1; lower it or use maccormack")
        self._check_components()
        self._check_solids()
        check_soft(self)
        check_shells(self)
        if self.domain is None:
            self._check_without_fluid()
        else:
            self._check_with_fluid(self.domain)
        return self

    def _check_with_fluid(self, domain: Domain) -> None:
        self._check_sides(domain)
        if self.sph_fluids:
            check_sph(self)
        else:
            check_without_sph(self)
        check_coupling(self)
        check_solves(self)
        check_nodes_in_fluid(self)
        self._check_smoke()
        self._check_water()
        self._check_contact_angles(domain)
        check_waves(self, domain)
        check_probes(self, domain)
        for name, item in self.objects.items():
            if isinstance(item, SoftBody | Cloth | Rope):
                self._check_near(name, item, domain)
            elif not isinstance(item, Joint | Zone):
                self._check_inside(name, item, domain)
        if self.output.fields is None and not self.sph_fluids:
            smoke = ("smoke", "temperature") if self.smoke else ()
            fields = ("velocity", "pressure", *smoke, *(("level_set",) if self.has_surface else ()))
            object.__setattr__(self, "output", self.output.model_copy(update={"fields": fields}))

    def _check_contact_angles(self, domain: Domain) -> None:
        """A contact angle acts through the tension of a surface, on what has an inside."""
        sides = {f"domain.sides.{name}": getattr(side, "contact_angle", None) for name, side in domain.sides.items()}
        bodies = {f"objects.{name}": body.contact_angle for name, body in self.bodies.items()}
        for path, angle in {**sides, **bodies}.items():
            if angle is not None and not (self.has_surface and self.surface.tension > 0.0):
                given = "" if isinstance(angle, ContactAngles) else f" = {angle:g}"
                raise complain(
                    f"{path}.contact_angle{given} has no effect without surface tension; set surface.tension "
                    "(0.0728 for water) in a scene with water, or remove it"
                )
        for name, body in self.shells.items():
            if body.contact_angle is not None:
                raise complain(
                    f"objects.{name}.contact_angle: a thin shell has no inside into which the surface could go on; "
                    "give it a thickness, or remove contact_angle"
                )

    def _check_without_fluid(self) -> None:
        """Without a domain there is no fluid: what belongs to one has no effect and is a mistake."""
        if not self.softs and not any(body.is_dynamic for body in self.bodies.values()):
            raise complain(
                "nothing moves: there is no [domain] with fluid and no dynamic body; add a domain, "
                "or give a body a density"
            )
        for key in ("fluid", "smoke", "surface", "coupling", "sph", "monolithic", "lumped", "rigid_fluid"):
            if getattr(self, key) != type(self).model_fields[key].default:
                raise complain(f"{key} has no effect without a [domain]; add one, or remove {key}")
        for name, item in self.objects.items():
            if not isinstance(item, RigidBody | Joint | SoftBody | Cloth | Rope):
                raise complain(f"objects.{name}: type = {item.type!r} needs a [domain]; add one, or remove the object")
            if isinstance(item, RigidBody) and item.slip:
                raise complain(
                    f"objects.{name}.slip: there is no fluid to slide along it; add a [domain], or remove slip "
                    "(bodies slide on each other by their friction)"
                )
            if isinstance(item, RigidBody) and item.contact_angle is not None:
                raise complain(
                    f"objects.{name}.contact_angle: there is no water to meet it; add a [domain] with water, or remove "
                    "it"
                )
        for name, probe in self.probes.items():
            if not isinstance(probe, ForceProbe):
                raise complain(f"probes.{name}: there is no fluid to measure; add a [domain], or remove the probe")
        check_force_probes(self)
        if self.output.fields:
            raise complain("output.fields: there is no fluid; add a [domain], or remove the fields")
        if self.view.field is not None:
            raise complain("view.field: there is no fluid; add a [domain], or remove the field")
        if self.time.stepper != "first_order":
            raise complain(f"time.stepper = {self.time.stepper!r}: belongs to a fluid; add a [domain], or remove it")
        if self.time.cfl != 1.0:
            raise complain(
                f"time.cfl = {self.time.cfl:g}: counts cells of a fluid; add a [domain], or use max_step for the step"
            )

    def _check_solids(self) -> None:
        """Shapes fit the dimensions; joints need bodies."""
        dimensions = self.dimensions
        for name, item in self.objects.items():
            if not isinstance(item, Joint | SoftBody | Cloth | Rope | Zone):
                item.shape.check_dimensions(f"objects.{name}.shape", dimensions)
        check_groups(self.bodies)
        if self.solids.sleep is not None and (self.domain is not None or self.softs):
            what = "a fluid" if self.domain is not None else f"objects.{next(iter(self.softs))}"
            raise complain(
                f"solids.sleep = {self.solids.sleep:g}: bodies that {what} may move at any time are not left alone; "
                "remove it, it is for rigid bodies alone"
            )
        for name, body in self.bodies.items():
            check_loads(f"objects.{name}", body.loads, dimensions)
        for name, joint in self.joints.items():
            for end in (joint.parent, joint.child):
                if end is not None and end not in self.bodies:
                    hint = suggest(end, list(self.bodies))
                    raise complain(f"objects.{name}: there is no rigid body {end!r}; {hint}Name one under [objects]")
            ends = [self.bodies[end] for end in (joint.parent, joint.child) if end is not None]
            if not any(body.is_dynamic for body in ends):
                raise complain(f"objects.{name}: joins no dynamic body; give one of its bodies a density")
            if dimensions == 2 and joint.kind not in ("fixed", "hinge", "prismatic"):
                raise complain(
                    f"objects.{name}.kind = {joint.kind!r}: a 2D scene has fixed, hinge and prismatic joints"
                )
            if dimensions == 2 and joint.kind == "hinge" and any(joint.axis[:2]):
                raise complain(f"objects.{name}.axis: in a 2D scene bodies turn about z only; use [0, 0, 1]")

    def _check_velocity_fields(self) -> None:
        liquids: dict[str, Water | SphFluid] = {**self.waters, **self.sph_fluids}
        for name, item in liquids.items():
            field, path = item.velocity_field, f"objects.{name}.velocity_field"
            if field is None:
                continue
            if field.components != self.dimensions:
                raise complain(
                    f"{path}.values: velocities of {field.components} components in a {self.dimensions}D scene; give "
                    f"{self.dimensions}"
                )
            if self.dimensions == 2 and field.z is not None:
                raise complain(f"{path}.z: a 2D scene has no z; remove it")

    def _check_components(self) -> None:
        """Vectors have as many components as the scene has dimensions; in 2D a third one may be 0, not of places."""
        dimensions = self.dimensions
        self._check_places(dimensions)
        self._check_velocity_fields()
        for path, vector in self._vectors():
            if dimensions == 3 and len(vector) != 3:
                raise complain(f"{path} = {list(vector)}: must have 3 components in a 3D scene")
            if dimensions == 2 and len(vector) == 3 and vector[2] != 0:
                raise complain(f"{path} = {list(vector)}: a 2D scene has no z; give two components")
        for name, body in self.bodies.items():
            if dimensions == 2:
                turns = [body.rotation.axis, body.angular_velocity]
                if isinstance(body.motion, PrescribedVelocity):
                    turns += [v for v in values_of(body.motion.angular)]
                if isinstance(body.motion, Keyframes):
                    turns += [r.axis for r in body.motion.rotations or ()]
                if any(v[0] != 0 or v[1] != 0 for v in turns if len(v) == 3):
                    raise complain(f"objects.{name}: in a 2D scene bodies turn about z only; use an axis [0, 0, 1]")

    def _check_places(self, dimensions: int) -> None:
        """Places and sizes all have the same number of components: a z that one of them lacks has been forgotten."""
        for name, item in self.objects.items():
            places = {} if isinstance(item, Zone) else {"position": item.position}
            shape = getattr(item, "shape", None)
            places |= {} if shape is None else {f"shape.{key}": place for key, place in shape.places().items()}
            if isinstance(item, Rope):
                places["end"] = item.end
            for key, place in places.items():
                if len(place) == dimensions:
                    continue
                path = f"objects.{name}.{key} = {list(place)}"
                if dimensions == 3:
                    raise complain(f"{path}: must have 3 components in a 3D scene; its z has been forgotten")
                if self.domain is None:
                    raise complain(f"{path}: has a z and positions have none; give all of them one (3D) or none (2D)")
                if place[2] != 0 and key != "shape.size":
                    raise complain(
                        f"{path}: a 2D scene has no z; give two components, or domain.upper a third one if its z has "
                        "been forgotten"
                    )

    def _vectors(self) -> list[tuple[str, tuple[float, ...]]]:
        dimensions = self.dimensions
        found: list[tuple[str, tuple[float, ...]]] = [
            *(("gravity", value) for value in values_of(self.gravity)),
            ("fluid.acceleration", self.fluid.acceleration),
            ("fluid.initial_velocity", self.fluid.initial_velocity),
        ]
        for name, side in (self.domain.sides if self.domain else {}).items():
            if isinstance(side, Wall | Inflow):
                found += [(f"domain.sides.{name}.velocity", v) for v in values_of(side.velocity)]
        for name, item in self.objects.items():
            path = f"objects.{name}"
            if isinstance(item, Zone):
                continue
            found.append((f"{path}.position", item.position))
            if isinstance(item, Joint | SoftBody | Cloth | Rope):
                continue
            if isinstance(item, RigidBody):
                found.append((f"{path}.velocity", item.velocity))
                found += [] if item.centre_of_mass is None else [(f"{path}.centre_of_mass", item.centre_of_mass)]
            found += [(f"{path}.shape.{key}", v[:dimensions]) for key, v in item.shape.places().items()]
            found += [(f"{path}.shape.{key}", v) for key, v in item.shape.directions().items()]
            if isinstance(item, Emitter | Water | WaterSource | SphFluid):
                found += [(f"{path}.velocity", item.velocity)] if item.velocity is not None else []
            elif isinstance(item, Drain | Bubble):
                continue
            elif isinstance(item.motion, PrescribedVelocity):
                found += [(f"{path}.motion.linear", v) for v in values_of(item.motion.linear)]
            elif isinstance(item.motion, Keyframes):
                found += [(f"{path}.motion.positions", v) for v in item.motion.positions]
        for name, probe in self.probes.items():
            if isinstance(probe, PointProbe | GaugeProbe | FaceProbe):
                found.append((f"probes.{name}.position", probe.position))
            if isinstance(probe, FaceProbe):
                found.append((f"probes.{name}.normal", probe.normal))
            if isinstance(probe, LineProbe):
                found += [(f"probes.{name}.start", probe.start), (f"probes.{name}.end", probe.end)]
        if self.view.camera is not None and dimensions == 3:
            camera = self.view.camera
            found += [("view.camera.position", camera.position), ("view.camera.look_at", camera.look_at)]
        return found

    def _check_sides(self, domain: Domain) -> None:
        sides = domain.sides
        inflows = [name for name, side in sides.items() if isinstance(side, Inflow)]
        if inflows and not any(isinstance(side, Outflow | Open) for side in sides.values()):
            raise complain(
                f"domain.sides.{inflows[0]}: an inflow into a closed domain; the fluid must leave somewhere: "
                f"make another side 'outflow' or 'open'"
            )
        for name in inflows:
            side = sides[name]
            assert isinstance(side, Inflow)
            normal, inward = AXES.index(name[0]), 1.0 if name.endswith("low") else -1.0
            speeds = [inward * v[normal] for v in values_of(side.velocity)]
            if speeds and max(speeds) <= 0 and min(speeds) < 0:
                raise complain(f"domain.sides.{name}.velocity points out of the domain; reverse it, or use 'outflow'")
            if side.profile == "parabolic" and not self.parabolic_axes(name):
                raise complain(
                    f"domain.sides.{name}.profile = 'parabolic': needs no-slip walls at both ends of the side; "
                    f"make them 'wall' or use profile = 'uniform'"
                )
            if (side.smoke != 0 or side.temperature is not None) and self.smoke is None:
                raise complain(f"domain.sides.{name}: smoke or temperature given but smoke is off; add a [smoke] table")

    def parabolic_axes(self, side: str) -> list[int]:
        """The axes along a side (0 = x) that end in no-slip walls at both ends."""
        found = []
        assert self.domain is not None
        for axis in range(self.dimensions):
            ends = [self.domain.sides[f"{AXES[axis]}_{end}"] for end in ("low", "high")]
            if AXES[axis] != side[0] and all(isinstance(end, Wall) and not end.slip for end in ends):
                found.append(axis)
        return found

    def _check_smoke(self) -> None:
        if self.view.field == "density" and not self.sph_fluids:
            raise complain("view.field: 'density' is that of particles; add an sph_fluid, or choose another field")
        if self.smoke is not None:
            if not isinstance(self.gravity, tuple) and not self.has_surface:
                raise complain("gravity: is a curve, and smoke rises against a constant one; give it a constant vector")
            return
        for name in self.emitters:
            raise complain(f"objects.{name}: an emitter needs smoke; add a [smoke] table, or remove the emitter")
        for field in self.output.fields or ():
            if field in ("smoke", "temperature"):
                raise complain(f"output.fields: {field!r} needs smoke; add a [smoke] table, or remove the field")
        if self.view.field in ("smoke", "temperature"):
            raise complain(f"view.field: {self.view.field!r} needs smoke; add a [smoke] table, or choose another field")

    def _check_water(self) -> None:
        """What a free surface does without yet is refused; without one its options have no effect."""
        if self.sph_fluids:
            return
        for name in self.bubbles if self.fluid.air is None else ():
            raise complain(f"objects.{name}: a bubble is of fluid.air; add it, such as fluid.air = {{ density = 1.2 }}")
        if self.fluid.air is not None:
            check_two_fluids(self)
        if not self.has_surface:
            if self.surface != Surface():
                raise complain("surface has no effect without water; add an object of type 'water', or remove it")
            if "level_set" in (self.output.fields or ()) or self.view.field == "level_set":
                raise complain("the field 'level_set' needs water; add an object of type 'water', or remove the field")
            for name in self.water_regions:
                raise complain(f"objects.{name}: a drain needs water; add an object of type 'water'")
            return
        if self.surface.tension_step == "implicit":
            check_implicit_tension(self)
        if self.surface.particles_per_cell is not None and not self.surface.particles:
            raise complain("surface.particles_per_cell has no effect with particles = false; remove it")
        if self.fluid.viscosity_form != "split" or self.fluid.no_slip != "wall_rows":
            raise complain(
                "fluid: water has the split form of viscosity with rows at walls; remove viscosity_form, no_slip"
            )
        if self.time.stepper != "first_order":
            raise complain(f"time.stepper = {self.time.stepper!r}: {_OF_A_SURFACE[self.time.stepper]}; remove it")
        if self.fluid.advection == "none":
            raise complain("fluid.advection = 'none': water moves its surface; use maccormack or semi_lagrangian")
        if any(self.fluid.initial_velocity) or self.fluid.initial_vortices:
            raise complain("fluid.initial_velocity: give each object of type 'water' its velocity instead")

    def _check_near(self, name: str, item: RigidBody | SoftBody | Cloth | Rope, domain: Domain) -> None:
        """A body that forces move may start outside, not where it never comes to the fluid from."""
        ends = list(zip(domain.lower, item.position, domain.upper, strict=False))
        longest = max(hi - lo for lo, _, hi in ends)
        away = max(max(lo - x, x - hi) for lo, x, hi in ends)
        if isinstance(item, Rope):
            half: tuple[float, ...] = (math.dist(item.position, item.end),)
        else:
            half = item.size or () if item.shape is None else item.shape.half_size()
        if away > max(FARTHEST * longest, *(h for h in half if math.isfinite(h)), 0.0):
            raise complain(
                f"objects.{name}.position = {list(item.position)}: {away:.3g} m outside the domain, which is "
                f"{longest:g} m long; move it nearer or enlarge the domain"
            )

    def _check_inside(
        self, name: str, item: RigidBody | Emitter | Water | WaterSource | Drain | Bubble | SphFluid, domain: Domain
    ) -> None:
        """A solid that never moves, or a source, wholly outside the domain has no effect and is a mistake."""
        if isinstance(item, RigidBody) and not isinstance(item.motion, Static):
            return
        if isinstance(item, RigidBody) and item.is_dynamic:
            self._check_near(name, item, domain)
            return
        half = item.shape.half_size()
        turn = item.rotation.matrix()
        for axis in range(self.dimensions):
            reach = sum(abs(turn[axis][b]) * half[b] for b in range(self.dimensions) if turn[axis][b] != 0)
            lo, hi = domain.lower[axis], domain.upper[axis]
            x = item.position[axis]
            if x + reach <= lo or x - reach >= hi:
                raise complain(
                    f"objects.{name}.position = {list(item.position)}: wholly outside the domain, which reaches from "
                    f"{lo:g} to {hi:g} m along {AXES[axis]}; move it inside or enlarge the domain"
                )
