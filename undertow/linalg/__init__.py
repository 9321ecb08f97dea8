"""Rows on velocities and how to solve them: CoupledSystem, conjugate gradients, MINRES, multigrid."""

from undertow.linalg.active_set import ActiveSet, Bounds, solve_in_passes
from undertow.linalg.clusters import ClusterCycle
from undertow.linalg.constraints import ConstrainedInverse, HeldRows
from undertow.linalg.coupled import (
    ActsOn,
    CoupledSystem,
    DenseBlock,
    FoldedRowBlock,
    HasDiagonal,
    HasRegions,
    InverseMass,
    MassBlock,
    RowBlock,
    SolveStats,
    StructuredRows,
    VelocityBlock,
)
from undertow.linalg.krylov import ConjugateGradients, Identity, KrylovStats, Minres, Operator, Preconditioner
from undertow.linalg.low_rank import Columns, Woodbury
from undertow.linalg.multigrid import Multigrid
from undertow.linalg.null_space import NullSpace
from undertow.linalg.refinement import Refinement
from undertow.linalg.stencil import Overlay, Stencil
from undertow.linalg.vectors import VectorSpace, used_planes, used_ranges

__all__ = [
    "ActiveSet", "ActsOn", "Bounds", "ClusterCycle", "Columns", "ConjugateGradients", "ConstrainedInverse",
    "CoupledSystem", "DenseBlock", "FoldedRowBlock", "HasDiagonal", "HasRegions", "HeldRows", "Identity",
    "InverseMass", "KrylovStats", "MassBlock", "Minres", "Multigrid", "NullSpace", "Operator", "Overlay",
    "Preconditioner", "Refinement", "RowBlock", "SolveStats", "Stencil", "StructuredRows", "VectorSpace",
    "VelocityBlock", "Woodbury", "solve_in_passes", "used_planes", "used_ranges",
]  # fmt: skip
