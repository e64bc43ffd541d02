"""Engines for vectors without a distance matrix: by block products, or through a tree of boxes."""
