"""The paper's experiments: its tables cell by cell, and its other claims as small experiments.

``reproduce()`` runs them and returns a :class:`Report`; ``reliac reproduce`` does the same from the shell.
"""

from __future__ import annotations

from .experiment import Stopped, names, reproduce
from .report.report import Report

__all__ = ["Report", "Stopped", "names", "reproduce"]
