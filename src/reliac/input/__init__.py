"""Whatever a user passes becomes a checked, frozen Problem: objects of some kind, how they compare, when to stop."""
