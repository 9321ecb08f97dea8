"""The steps, each the algorithm box of its source."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from undertow.errors import PhysicsError
from undertow.fluid.measure import largest_change
from undertow.fluid.state import FlowReport
from undertow.grid import Array
from undertow.linalg import used_planes

if TYPE_CHECKING:
    from undertow.fluid.flow import Flow


def copy_planes(source: Array, target: Array) -> None:
    """target = source, z ghosts aside: ``Exchange.fill`` sets those where they are read."""
    used_planes(target)[...] = used_planes(source)


class Stepper(ABC):
    """One way to advance a flow by a step; velocities where there is no fluid are left to ``Flow.finish``."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    @abstractmethod
    def step(self, time: float, dt: float) -> FlowReport:
        """Advance the flow's state from ``time`` by ``dt`` [s]."""

    def step_along(self, by_f: Array, time: float, dt: float) -> FlowReport:
        """The step without its sources; by_f: the velocity that transport follows [m/s], ghosts filled."""
        raise TypeError(f"{type(self).__name__} finds the velocity that transport follows itself")


class TwoHalves(Stepper):
    """A step of two halves: what the velocity carries, and then the velocity.

    A leapfrog scheme (``coupling.leapfrog``) calls the halves with durations of their own.
    """

    def step(self, time: float, dt: float) -> FlowReport:
        self.flow.emit(time)
        return self.step_along(self.flow.state.u, time, dt)

    def step_along(self, by_f: Array, time: float, dt: float) -> FlowReport:
        self.drift(by_f, time, dt)
        return self.kick(by_f, time + dt, dt, dt, dt)

    @abstractmethod
    def drift(self, by_f: Array, time: float, dt: float) -> None:
        """What is carried, from ``time`` by dt [s]."""

    @abstractmethod
    def kick(self, by_f: Array, time: float, kick: float, moved: float, dt: float) -> FlowReport:
        """The velocity over ``kick`` [s] where all is at ``time``; moved, dt: the drifts before and after it [s], 0
        where another kick comes between."""


class FirstOrder(TwoHalves):
    """Thesis 5.2 to 5.7: transport, forces, one implicit solve. First order in time."""

    def drift(self, by_f: Array, time: float, dt: float) -> None:
        self.flow.transport_fields(by_f, dt)

    def kick(self, by_f: Array, time: float, kick: float, moved: float, dt: float) -> FlowReport:
        f = self.flow
        f.transport_velocity(by_f, kick)  # (5.25)
        f.add_forces(f.u_star, kick)
        f.place(time)
        f.uncover(f.u_star, moved)
        f.guess(kick)
        report = f.project(f.u_star, kick)  # (5.31), or (5.3) and (5.4)
        f.take_over(kick)
        return report


class FreeSurfaceStep(TwoHalves):
    """A liquid: solids move, then the surface with them, then its velocity: u^{n+1} answers to phi^{n+1}.

    Of a wave of frequency omega these two halves are phi^{n+1} = phi^n + dt u^n and u^{n+1} = u^n - dt omega^2
    phi^{n+1}: symplectic, of amplitude that stays while dt does, stable for omega dt < 2.
    """

    def drift(self, by_f: Array, time: float, dt: float) -> None:
        self.flow.move_walls(time + dt)
        self.flow.transport_fields(by_f, dt)  # phi_t + u.grad phi = 0

    def kick(self, by_f: Array, time: float, kick: float, moved: float, dt: float) -> FlowReport:
        f = self.flow
        f.transport_velocity(by_f, kick)  # (5.25)
        f.uncover(f.u_star, moved)
        if dt > 0.0:
            f.add_sources(time, dt)
        f.add_forces(f.u_star, kick)
        f.phase.set_time_step(kick)
        f.place_velocities(time)
        f.guess(kick)
        report = f.project(f.u_star, kick)  # (5.3) with thesis 6.3.7
        f.take_over(kick)
        return report


class SecondOrder(Stepper):
    """Second order in time, one implicit solve per step.

    Transport by the velocity extrapolated to t + dt/2, Crank-Nicolson viscosity and the known part of the pressure
    gradient applied half before and half after the transport, the projection finding only the pressure increment:

        u*      = T[u^n + dt/2 R^n; u^{n+1/2}] + dt/2 (f - grad q / rho),      R = nu L u - grad q / rho + f
        u^{n+1} = u* + dt/2 nu L u^{n+1} - dt grad phi / rho,   div u^{n+1} = 0,   q <- q + phi

    Viscous rows at cut faces and solid walls are taken by backward Euler instead: their explicit half would be stiff.
    """

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self.by_f = flow.grid.face_field()

    def step(self, time: float, dt: float) -> FlowReport:
        f, s = self.flow, self.flow.state
        f.emit(time)
        self._extrapolate_half(dt)
        copy_planes(s.u, s.u_previous)
        f.add_viscous_half(0.5 * dt, s.u)
        f.add_pressure_gradient(s.p, 0.5 * dt, s.u)
        f.add_forces(s.u, 0.5 * dt)
        f.transport_fields(self.by_f, dt)
        f.sides.exchange.fill(s.u)
        f.transport_velocity(self.by_f, dt)
        f.place(time + dt)
        self._uncover(dt)
        f.add_pressure_gradient(s.p, 0.5 * dt, f.u_star)
        f.add_forces(f.u_star, 0.5 * dt)
        f.z_c[:] = 0.0
        report = f.project(f.u_star, 0.5 * dt)
        f.z_c /= dt
        s.p += f.z_c
        s.u, f.u_star = f.u_star, s.u
        s.previous_time_step = dt
        return report

    def _uncover(self, dt: float) -> None:
        """As ``Flow.uncover``; what is taken anew has no velocity of the step before to be extrapolated from."""
        f, s = self.flow, self.flow.state
        if f.advection.one_sided is None:
            return
        copy_planes(f.u_star, self.by_f)
        f.uncover(f.u_star, dt)
        new, old, before = (used_planes(x) for x in (f.u_star, self.by_f, s.u_previous))
        np.copyto(before, new, where=new != old)

    def _extrapolate_half(self, dt: float) -> None:
        """u^{n+1/2} = u^n + dt / (2 dt_previous) (u^n - u^{n-1}); u^n on the first step and after a far smaller one."""
        s = self.flow.state
        ratio = 0.5 * dt / s.previous_time_step if s.previous_time_step > 0.1 * dt else 0.0
        by, now, before = (used_planes(x) for x in (self.by_f, s.u, s.u_previous))
        np.subtract(now, before, out=by)
        by *= ratio
        by += now
        self.flow.sides.exchange.fill(self.by_f)


class ImplicitStep(Stepper):
    """Fully implicit Navier-Stokes by the iteration of thesis 5.7: transport re-evaluated at the newest u^{n+1}.

    Smoke is transported before it, and not past thin solids. Velocity is: what is in sight of a value would change from
    pass to pass, by jumps, and the iteration would not converge.
    """

    iterations = 50
    tolerance = 1e-5

    def __init__(self, flow: Flow) -> None:
        super().__init__(flow)
        self.newest_f = flow.grid.face_field()
        self._no_velocity = np.zeros((0, 0, 0, 0))

    def step(self, time: float, dt: float) -> FlowReport:
        f, s = self.flow, self.flow.state
        f.emit(time)
        f.transport_fields(s.u, dt)
        f.place(time + dt)
        f.uncover(self._no_velocity, dt)
        sight, f.advection.one_sided = f.advection.one_sided, None
        try:
            return self._iterate(time, dt)
        finally:
            f.advection.one_sided = sight

    def _iterate(self, time: float, dt: float) -> FlowReport:
        """u^{n+1} with everything at its place."""
        f, s = self.flow, self.flow.state
        copy_planes(s.u, self.newest_f)
        f.sides.exchange.fill(self.newest_f)
        report = FlowReport()
        for _ in range(self.iterations):
            f.guess(dt)  # viscosity expects the same pressure in every pass, so that passes contract as transport does
            f.advection.velocity(self.newest_f, self.newest_f, dt, f.u_star)
            star = used_planes(f.u_star)
            star -= used_planes(self.newest_f)
            star += used_planes(s.u)
            f.sides.exchange.fill(f.u_star)
            f.add_forces(f.u_star, dt)
            inner = f.project(f.u_star, dt)
            f.finish(f.u_star)
            report.solves += inner.solves
            report.row_before, report.row_after, report.leak = inner.row_before, inner.row_after, inner.leak
            change, size = largest_change(f.grid, f.u_star, self.newest_f)
            copy_planes(f.u_star, self.newest_f)
            f.sides.exchange.fill(self.newest_f)
            if change <= self.tolerance * size:
                break
        else:
            raise PhysicsError(
                f"implicit step at t = {time:.6g} s: the iteration did not converge in {self.iterations} passes "
                f"(last change {change:.3g} of {size:.3g} m/s); lower time.cfl or max_step"
            )
        np.divide(f.z_c, dt, out=s.p)
        copy_planes(self.newest_f, s.u)
        f.sides.exchange.fill(s.u)
        return report


STEPPERS: dict[str, Callable[[Flow], Stepper]] = {
    "first_order": FirstOrder,
    "second_order": SecondOrder,
    "implicit": ImplicitStep,
}
"""Of a fluid that fills its domain."""

SURFACE_STEPPERS: dict[str, Callable[[Flow], Stepper]] = {"first_order": FreeSurfaceStep}
"""Of a liquid under a surface."""


def make_stepper(name: str, flow: Flow) -> Stepper:
    """The stepper of that name, with its scratch arrays."""
    return (SURFACE_STEPPERS if flow.phase.moves else STEPPERS)[name](flow)
