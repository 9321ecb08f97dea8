"""Incompressible flow: pressure, viscosity, forces, what the flow carries, and the steps."""

from undertow.fluid.flow import Flow
from undertow.fluid.smoke import Smoke, SmokeEmitter, SmokeSettings
from undertow.fluid.state import FlowReport, FlowSettings, FlowState, SolidForce

__all__ = ["Flow", "FlowReport", "FlowSettings", "FlowState", "Smoke", "SmokeEmitter", "SmokeSettings", "SolidForce"]
