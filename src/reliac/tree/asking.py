"""The methods of a tree that answer questions: their words for users; the answers are made in :mod:`reliac.questions`.

They are functions whose first argument is the tree. :class:`ClusterTree` names each of them as a method of its own, and
each imports what it needs when it is called, so that a tree alone stays light.
"""

from __future__ import annotations
