"""Bridges to other tools; each module needs the tool it is named after, which is no dependency of this package."""
