"""What is varied in an evaluation: a list of k, or one other policy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulmt.errors import UsageError
from simulmt.policy import Policy, create

_LARGEST = 1000


@dataclass(frozen=True, slots=True)
class Setting:
    """One policy to evaluate, by name, so that another process can make it too.

    Attributes:
        policy: its name in the registry.
        k: words to wait, for wait-k.
        catchup: c of wait-k.
    """

    policy: str = "wait-k"
    k: int | None = None
    catchup: float = 0.0

    @property
    def label(self) -> str:
        """The folder's name: `k5`, `k5-c0.1`, `full`, or the policy's own."""
        if self.policy != "wait-k":
            return re.sub(r"[^\w.-]+", "-", self.policy)
        return f"k{self.k}" + (f"-c{self.catchup:g}" if self.catchup else "")

    @property
    def lag(self) -> int | str | None:
        """k as given on the command line; None for policies without."""
        return self.k if self.policy == "wait-k" else "full" if self.policy == "full" else None

    def make(self) -> Policy:
        """Return the policy.

        Raises:
            UsageError: no such policy, or a number out of range.
        """
        if self.policy == "wait-k":
            return create("wait-k", k=self.k, catchup=self.catchup)
        return create(self.policy)


def parse_settings(lags: str, catchup: float = 0.0) -> list[Setting]:
    """Return the settings of a list like `1,3,5-7,full`, in its order, repeated ones once.

    Raises:
        UsageError: an entry is neither a number, a range, nor `full`; a number is out of range.
    """
    settings: list[Setting] = []
    for part in lags.split(","):
        settings += [setting for setting in _part(part.strip(), catchup) if setting not in settings]
    for setting in settings:
        setting.make()
    return settings


def _part(text: str, catchup: float) -> list[Setting]:
    if text == "full":
        return [Setting("full")]
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None:
        raise UsageError(f"--k {text!r} is neither a number, a range nor 'full'", "give a list like 1,3,5-7,full")
    first, last = int(match[1]), int(match[2] or match[1])
    if not first <= last <= _LARGEST:
        raise UsageError(f"--k {text!r} is out of range", f"ranges rise, up to {_LARGEST}; `full` reads all first")
    return [Setting("wait-k", k, catchup) for k in range(first, last + 1)]
