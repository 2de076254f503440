"""simulmt: simultaneous translation on the command line."""

__version__ = "0.1.0"
