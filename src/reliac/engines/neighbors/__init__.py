"""The nearest rows of every row."""
