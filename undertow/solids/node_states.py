"""What nodes do at the rigid bodies that they are near, in an implicit step: states, and what changes them.

    state     held in the solve     becomes     when an iteration has found
    FREE      nothing               TOUCHES     that it would enter the body by more than the tolerance
    SLIDES    the normal            FREE        that it is pulled from the body
                                    STICKS      that it has stopped, with a friction that follows its normal impulse
    STICKS    all directions        FREE        that it is pulled from the body
                                    SLIDES      that it rubs harder than mu times the normal impulse

TOUCHES is STICKS with friction, SLIDES without. All transitions of an iteration are decided from the same velocities
and impulses, then made together: predict; repeat: linearise, solve, update; commit. Pulls, stops and friction bounds
count in the first ``SETTLE`` iterations only. From then on nodes only come to touch and begin to slide, which nothing
takes back: at most two transitions of every node are left, so that the search ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from undertow.grid import Array
from undertow.soft import Held
from undertow.solids.soft_contacts import FREE, SLIDES, STICKS, SoftContacts

SETTLE = 10
"""From this iteration on nodes that touch are no longer let go or caught, so that the search ends."""


class Seen(NamedTuple):
    """What an iteration has found at the nodes (k,): normal impulse (0 where nothing is held) and tangential one
    [N s], velocity along the normal beyond what closes the gap [m/s], and whether that across is slower than the speed
    below which friction is rounded."""

    press: Array
    shear: Array
    approach: Array
    slow: Any


class Changes(NamedTuple):
    """Which nodes (k,) enter, are let go, slip and are caught, each a transition of the table; rubs: those that slide
    with a friction that is not of their normal impulse."""

    enters: Any
    lets_go: Any
    slips: Any
    catches: Any
    rubs: Any

    @property
    def of_contact(self) -> bool:
        """Whether any node comes or goes."""
        return bool((self.enters | self.lets_go).any())

    @property
    def of_friction(self) -> bool:
        """Whether any friction changes."""
        return bool((self.slips | self.catches | self.rubs).any())


class NodeStates:
    """States of the nodes of contacts (k,) in a step of dt [s].

    state, press (k,): of the step before; loose [m]: nodes touch still up to this gap, beside the thickness.
    """

    def __init__(self, contacts: SoftContacts, dt: float, loose: float, state: Any, press: Array) -> None:
        self.contacts, self.mu, self.normal = contacts, contacts.mu(), contacts.normal
        self.near = contacts.body >= 0
        self.state = np.where(self.near & (contacts.gap < contacts.radius + loose), state, FREE)
        self.press = np.where(self.state > FREE, press, 0.0)
        """Normal impulse by which friction goes (k,) [N s]."""
        self.closing = np.where(self.near, -contacts.gap / dt, 0.0)
        """Speed along the normal (k,) [m/s] that closes the gap, or opens an overlap."""
        self.touches = np.where(self.mu > 0, STICKS, SLIDES)

    @property
    def slides(self) -> Any:
        return self.state == SLIDES

    @property
    def sticks(self) -> Any:
        return self.state == STICKS

    def predict(self, v: Array) -> None:
        """Free nodes that would enter with v (n, 3) touch from the start."""
        contacts = self.contacts
        coming = np.einsum("ki,ki->k", v[contacts.nodes] - contacts.velocity, self.normal) < self.closing
        self.state = np.where(self.near & coming & (self.state == FREE), self.touches, self.state)

    def observe(self, reaction: Array, v: Array, creep: float, held: Held) -> Seen:
        """At the velocities v (n, 3), which need the impulses reaction (n, 3) [N s] on the nodes; of nodes that are
        held along some axes, what they need along the others says what contact does."""
        contacts, reaction = self.contacts, reaction[self.contacts.nodes]
        normal = self.normal
        if held.axes is not None:
            reaction, normal = reaction * held.axes[contacts.nodes], held.along(contacts.nodes, normal)
        press = np.where(self.state > FREE, np.einsum("ki,ki->k", reaction, normal), 0.0)
        across = reaction - press[:, None] * self.normal
        if held.axes is not None:
            across *= held.axes[contacts.nodes]
        shear = np.linalg.norm(across, axis=1)
        relative = v[contacts.nodes] - contacts.velocity - self.closing[:, None] * self.normal
        approach = np.einsum("ki,ki->k", relative, self.normal)
        slow = np.linalg.norm(relative - approach[:, None] * self.normal, axis=1) < creep
        return Seen(press, shear, approach, slow)

    def decide(self, seen: Seen, least: float, far: bool, iteration: int) -> Changes:
        """The transitions; least [m/s]: of a node that enters. far: the iteration moved nodes so far that its impulses
        tell nothing."""
        touching, undecided = self.state > FREE, iteration < SETTLE
        scale = self.scale(seen)
        enters = self.near & ~touching & (seen.approach < -least)
        lets_go = touching & (seen.press < -scale) & undecided & (not far)
        slips = self.sticks & (seen.shear > self.mu * seen.press + scale) & ~lets_go
        # friction follows the normal impulse of the iteration before
        differs = np.abs(seen.press - self.press) > 1e-2 * seen.press + scale
        rubs = self.slides & differs & (self.mu > 0) & undecided
        catches = self.slides & seen.slow & (self.mu > 0) & ~lets_go & ~rubs & undecided
        return Changes(enters, lets_go, slips, catches, rubs)

    def scale(self, seen: Seen) -> float:
        """Impulses [N s] below which are nothing."""
        return 1e-9 + 1e-6 * float(np.abs(seen.press).max(initial=0.0))

    def enter(self, changes: Changes) -> None:
        """Make the first transition of the table alone."""
        self.state[changes.enters] = self.touches[changes.enters]

    def update(self, changes: Changes, seen: Seen, iteration: int) -> None:
        """Make all transitions, and friction that of the normal impulses found."""
        self.enter(changes)
        self.state[changes.lets_go] = FREE
        self.state[changes.slips] = SLIDES
        self.state[changes.catches] = STICKS
        if iteration < SETTLE:
            self.press = np.where(self.state > FREE, np.maximum(seen.press, 0.0), 0.0)
