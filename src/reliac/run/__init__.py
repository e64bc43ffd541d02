"""A run from a problem to a tree: what it has established, progress, checkpoints, going on."""
