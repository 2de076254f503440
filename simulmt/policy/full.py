"""Whole segments: the offline baseline."""

from __future__ import annotations

from dataclasses import dataclass

from simulmt.policy.base import Action, View


@dataclass(frozen=True, slots=True)
class Full:
    """Read the whole segment, then write its translation: g(i) = S."""

    @property
    def name(self) -> str:
        return "full"

    def action(self, view: View) -> Action:
        return Action.WRITE if view.ended else Action.READ
