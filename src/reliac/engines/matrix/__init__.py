"""The engine for given or computed distances, in memory or in a file."""
