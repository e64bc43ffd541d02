"""Clusters of vectors on a GPU: searched and joined there, handed to the lists on the CPU where levels are thin."""
