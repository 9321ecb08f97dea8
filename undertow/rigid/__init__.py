"""Rigid bodies: mass, orientation, contact geometry, joints and control."""
