"""How the loop is run: one room for each engine, and the choice between them."""
