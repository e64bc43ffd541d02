"""What users ask of a tree: where new rows belong, who is typical, how many clusters, how two trees differ."""
