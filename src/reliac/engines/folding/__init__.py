"""The folding engine: given distances, whole tables folded in C while levels join many clusters."""
