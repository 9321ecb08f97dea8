"""The two ways a command can fail, each with its exit status."""


class UserError(ValueError):
    """The user's mistake or a missing optional package: one readable message, exit status 2."""


class PhysicsError(Exception):
    """The physics failed (NaN, a diverging solve, lost volume): a plain sentence, exit status 1."""


class SolveError(PhysicsError):
    """A solve that did not reach its tolerance; relative: the residual that it ended with."""

    def __init__(self, text: str, relative: float) -> None:
        super().__init__(text)
        self.relative = relative
