"""The engine for a few thousand objects: one square matrix, all levels in one compiled call."""
