"""Policies: when to READ a source unit and when to WRITE a target unit."""

from simulmt.policy.base import Action, Policy, View
from simulmt.policy.full import Full
from simulmt.policy.registry import available, create
from simulmt.policy.wait_k import WaitK

__all__ = ["Action", "Full", "Policy", "View", "WaitK", "available", "create"]
