"""How kernels are compiled, and the kernels that several engines share."""
