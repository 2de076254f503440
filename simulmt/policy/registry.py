"""Policies by name; packages add their own through the entry point group `simulmt.policies`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulmt.errors import SimulmtError, UsageError
from simulmt.policy.base import Policy
from simulmt.policy.full import Full
from simulmt.policy.wait_k import WaitK

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "simulmt.policies"
_BUILT_IN: dict[str, type] = {"wait-k": WaitK, "full": Full}


def _plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and only needed for names that are not ours

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _BUILT_IN}


def available() -> list[str]:
    """Return the names of all policies, built in and registered."""
    return [*_BUILT_IN, *sorted(_plugins())]


def create(name: str, **options: object) -> Policy:
    """Return the policy called `name`, made with `options`.

    Raises:
        UsageError: no such policy, or options it does not take.
        SimulmtError: a registered policy that cannot be imported.
    """
    factory: object = _BUILT_IN.get(name)
    if factory is None:
        point = _plugins().get(name)
        if point is None:
            raise UsageError(f"unknown policy {name!r}", f"choose one of: {', '.join(available())}")
        try:
            factory = point.load()
        except Exception as error:
            raise SimulmtError(f"policy {name!r} ({point.value}) cannot be loaded: {error}") from error
    if not callable(factory):
        raise SimulmtError(f"policy {name!r} is not callable", "its entry point must name a class or a function")
    try:
        policy = factory(**options)
    except TypeError as error:
        raise UsageError(f"policy {name!r} does not take these options: {error}") from error
    if not isinstance(policy, Policy):
        raise SimulmtError(f"policy {name!r} has no `name` and `action`", "see simulmt.policy.Policy")
    return policy
