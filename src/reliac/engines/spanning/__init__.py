"""The engine for the single criterion: a minimum spanning tree, and the levels replayed on its edges."""
