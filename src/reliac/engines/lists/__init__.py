"""Certified candidate lists: the levels that the vectors, spatial and matrix engines share."""
