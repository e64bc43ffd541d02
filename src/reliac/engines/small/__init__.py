"""The engine for small inputs: NumPy and SciPy alone, since loading compiled code takes longer than they do."""
