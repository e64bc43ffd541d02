"""A bridge: the command line still imports this name from here; delete this file once it imports it from levels."""

from .levels import level_rows as level_rows
