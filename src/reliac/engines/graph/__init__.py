"""The engine for graphs: rows of edges that shrink as clusters join."""
