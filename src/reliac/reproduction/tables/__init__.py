"""The paper's tables: what is printed, how it was made, and what comes out."""
