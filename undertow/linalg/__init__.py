"""Rows on velocities and how to solve them: CoupledSystem, conjugate gradients, MINRES, multigrid."""

from undertow.linalg.coupled import (
    CoupledSystem,
    DenseBlock,
    FoldedRowBlock,
    MassBlock,
    RowBlock,
    SolveStats,
    VelocityBlock,
)
from undertow.linalg.krylov import ConjugateGradients, Identity, KrylovStats, Minres, Operator, Preconditioner
from undertow.linalg.multigrid import Multigrid
from undertow.linalg.null_space import NullSpace
from undertow.linalg.stencil import Overlay, Stencil
from undertow.linalg.vectors import used_planes, used_ranges

__all__ = [
    "ConjugateGradients", "CoupledSystem", "DenseBlock", "FoldedRowBlock", "Identity", "KrylovStats",
    "MassBlock", "Minres", "Multigrid", "NullSpace",
    "Operator", "Overlay", "Preconditioner", "RowBlock", "SolveStats", "Stencil", "VelocityBlock",
    "used_planes", "used_ranges",
]  # fmt: skip
