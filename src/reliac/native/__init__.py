"""A little C for small inputs, built along with the package where there is a compiler; without it NumPy does it."""
