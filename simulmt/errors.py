"""Errors meant for people: one line that says what is wrong, with which value, and what to do."""

from __future__ import annotations


class SimulmtError(Exception):
    """A failure the user can understand and act on; the command line prints it as one line and exits with 1.

    Args:
        message: what is wrong, with the value received (a file and line where there is one).
        hint: what to do about it, if that is not plain from the message.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(SimulmtError):
    """Wrong usage: an option or argument that cannot be meant; exits with 2."""

    exit_code = 2
