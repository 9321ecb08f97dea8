"""The steps, each the algorithm box of its source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from undertow.errors import PhysicsError
from undertow.fluid.measure import largest_change
from undertow.fluid.state import FlowReport
from undertow.grid import Array
from undertow.linalg import used_planes

if TYPE_CHECKING:
    from undertow.fluid.flow import Flow


def copy_planes(source: Array, target: Array) -> None:
    """target = source, z ghosts aside: ``Sides.fill_velocity`` sets those where they are read."""
    used_planes(target)[...] = used_planes(source)


class Stepper(Protocol):
    """One way to advance a flow by a step; velocities where there is no fluid are left to ``Flow.finish``."""

    def step(self, time: float, dt: float) -> FlowReport:
        """Advance the flow's state from ``time`` by ``dt`` [s]."""


class FirstOrder:
    """Thesis 5.2 to 5.7: transport, forces, one implicit solve. First order in time."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def step(self, time: float, dt: float) -> FlowReport:
        self.flow.emit(time)
        return self.step_along(self.flow.state.u, time, dt)

    def step_along(self, by_f: Array, time: float, dt: float) -> FlowReport:
        """The step without its sources; by_f: the velocity that transport follows [m/s], ghosts filled."""
        f, s = self.flow, self.flow.state
        f.transport_smoke(by_f, dt)
        f.advection.velocity(s.u, by_f, dt, f.u_star)  # (5.25)
        f.sides.fill_velocity(f.u_star)
        f.add_forces(f.u_star, dt)
        f.place(time + dt)
        f.uncover(f.u_star, dt)
        np.multiply(s.p, dt, out=f.z_c)
        report = f.project(f.u_star, dt)  # (5.31), or (5.3) and (5.4)
        np.divide(f.z_c, dt, out=s.p)
        s.u, f.u_star = f.u_star, s.u
        return report


class SecondOrder:
    """Second order in time, one implicit solve per step.

    Transport by the velocity extrapolated to t + dt/2, Crank-Nicolson viscosity and the known part of the pressure
    gradient applied half before and half after the transport, the projection finding only the pressure increment:

        u*      = T[u^n + dt/2 R^n; u^{n+1/2}] + dt/2 (f - grad q / rho),      R = nu L u - grad q / rho + f
        u^{n+1} = u* + dt/2 nu L u^{n+1} - dt grad phi / rho,   div u^{n+1} = 0,   q <- q + phi

    Viscous rows at cut faces and solid walls are taken by backward Euler instead: their explicit half would be stiff.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.by_f = flow.grid.face_field()

    def step(self, time: float, dt: float) -> FlowReport:
        f, s = self.flow, self.flow.state
        f.emit(time)
        self._extrapolate_half(dt)
        copy_planes(s.u, s.u_previous)
        f.add_viscous_half(0.5 * dt, s.u)
        f.add_pressure_gradient(s.p, 0.5 * dt, s.u)
        f.add_forces(s.u, 0.5 * dt)
        f.transport_smoke(self.by_f, dt)
        f.sides.fill_velocity(s.u)
        f.advection.velocity(s.u, self.by_f, dt, f.u_star)
        f.sides.fill_velocity(f.u_star)
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
        self.flow.sides.fill_velocity(self.by_f)


class ImplicitStep:
    """Fully implicit Navier-Stokes by the iteration of thesis 5.7: transport re-evaluated at the newest u^{n+1}.

    Smoke is transported before it, and not past thin solids. Velocity is: what is in sight of a value would change from
    pass to pass, by jumps, and the iteration would not converge.
    """

    iterations = 50
    tolerance = 1e-5

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.newest_f = flow.grid.face_field()
        self._no_velocity = np.zeros((0, 0, 0, 0))

    def step(self, time: float, dt: float) -> FlowReport:
        f, s = self.flow, self.flow.state
        f.emit(time)
        f.transport_smoke(s.u, dt)
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
        f.sides.fill_velocity(self.newest_f)
        np.multiply(s.p, dt, out=f.z_c)
        report = FlowReport()
        for _ in range(self.iterations):
            f.advection.velocity(self.newest_f, self.newest_f, dt, f.u_star)
            star = used_planes(f.u_star)
            star -= used_planes(self.newest_f)
            star += used_planes(s.u)
            f.sides.fill_velocity(f.u_star)
            f.add_forces(f.u_star, dt)
            inner = f.project(f.u_star, dt)
            f.finish(f.u_star)
            report.solves += inner.solves
            report.row_before, report.row_after, report.leak = inner.row_before, inner.row_after, inner.leak
            change, size = largest_change(f.grid, f.u_star, self.newest_f)
            copy_planes(f.u_star, self.newest_f)
            f.sides.fill_velocity(self.newest_f)
            if change <= self.tolerance * size:
                break
        else:
            raise PhysicsError(
                f"implicit step at t = {time:.6g} s: the iteration did not converge in {self.iterations} passes "
                f"(last change {change:.3g} of {size:.3g} m/s); lower time.cfl or max_step"
            )
        np.divide(f.z_c, dt, out=s.p)
        copy_planes(self.newest_f, s.u)
        f.sides.fill_velocity(s.u)
        return report


STEPPERS: dict[str, Callable[..., Stepper]] = {
    "first_order": FirstOrder,
    "second_order": SecondOrder,
    "implicit": ImplicitStep,
}


def make_stepper(name: str, flow: Flow) -> Stepper:
    """The stepper of that name, with its scratch arrays."""
    return STEPPERS[name](flow)
