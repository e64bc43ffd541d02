"""Outliers are the objects that come together with others late, or far away."""

import numpy as np

import reliac
from reliac import ReliableOutlierDetector

rng = np.random.default_rng(1)
crowd = np.concatenate([rng.normal(0.0, 1.0, size=(100, 2)), rng.normal(12.0, 2.0, size=(100, 2))])
planted = np.array([[6.0, 6.0], [-6.0, 5.0], [20.0, -5.0], [20.2, -5.1]])
points = np.concatenate([crowd, planted])  # rows 200 to 203 are the planted ones, and the last two are a pair

tree = reliac.cluster(points, "single", metric="euclidean")
by_level, by_distance = tree.outlier_scores(by="level"), tree.outlier_scores(by="distance of 10")
print("The pair joins at once, so by the level of the first join it looks normal:")
for row in range(200, 204):
    print(
        f"  row {row}  joins row {tree.join_partners[row]:3d} at level {tree.join_levels[row]:2d}, distance "
        f"{tree.join_distances[row]:.2f}  score by level {by_level[row]:.2f}, by distance of 10 {by_distance[row]:.2f}"
    )

detector = ReliableOutlierDetector(contamination=0.02).fit(points)
print("Flagged rows:", np.flatnonzero(detector.fit_predict(points) == -1).tolist())
print("New rows (0, 0) and (30, -20):", detector.predict([[0.0, 0.0], [30.0, -20.0]]).tolist())
