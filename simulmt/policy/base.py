"""The terms of a policy: Action, View and the Policy protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable


class Action(Enum):
    """What to do next: READ one more source unit, or WRITE the next target unit."""

    READ = "READ"
    WRITE = "WRITE"


@dataclass(frozen=True, slots=True)
class View:
    """All that a policy may look at.

    Attributes:
        read: source units read so far in this segment.
        written: target units written so far in this segment.
        ended: True when every unit of the segment has been read and its end is known.
    """

    read: int
    written: int
    ended: bool


@runtime_checkable
class Policy(Protocol):
    """A small immutable object that decides the next action.

    The caller reads a unit for each READ. When `ended` is true there is nothing left to read and READ means WRITE.
    """

    @property
    def name(self) -> str:
        """The policy with its parameters, for logs and reports, e.g. `wait-k(k=5)`."""
        ...

    def action(self, view: View) -> Action:
        """Return the next action for `view`."""
        ...


def scheduled_reads(policy: Policy, source_length: int, target_length: int) -> list[int]:
    """Return g(1..target_length): source units read when target unit i is written (all ≤ source_length).

    This plays the policy on a source of known length; training masks and tests use it as the one definition of what
    a target unit may see.
    """
    reads: list[int] = []
    read = 0
    for written in range(target_length):
        while read < source_length and policy.action(View(read, written, False)) is Action.READ:
            read += 1
        reads.append(read)
    return reads
