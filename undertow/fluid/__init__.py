"""Incompressible flow: pressure, viscosity, forces, smoke and the steps."""

from undertow.fluid.flow import Flow
from undertow.fluid.smoke import SmokeEmitter, SmokeSettings
from undertow.fluid.state import FlowReport, FlowSettings, FlowState, SolidForce

__all__ = ["Flow", "FlowReport", "FlowSettings", "FlowState", "SmokeEmitter", "SmokeSettings", "SolidForce"]
