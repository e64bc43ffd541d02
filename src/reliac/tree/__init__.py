"""The result: the tree, its invariants, cuts, walks, files and layout."""
