"""Outliers are the objects that join others late: no radius and no number of neighbours has to be chosen."""

import numpy as np

import reliac
from reliac import ReliableOutlierDetector

rng = np.random.default_rng(1)
crowd = np.concatenate([rng.normal(0.0, 1.0, size=(100, 2)), rng.normal(12.0, 2.0, size=(100, 2))])
planted = np.array([[6.0, 6.0], [-6.0, 5.0], [20.0, -5.0]])
points = np.concatenate([crowd, planted])  # rows 200, 201 and 202 are the planted ones

tree = reliac.cluster(points, "average", metric="euclidean")
scores = tree.outlier_scores()
print(f"{tree.n_levels} levels. The objects that join last:")
for row in scores.argsort(kind="stable")[::-1][:6]:
    print(f"  row {row:3d}  joins at level {tree.join_levels[row]:2d}  score {scores[row]:.2f}")

detector = ReliableOutlierDetector(contamination=0.02).fit(points)
print("Flagged rows:", np.flatnonzero(detector.fit_predict(points) == -1).tolist())
print("New rows (0, 0) and (30, -20):", detector.predict([[0.0, 0.0], [30.0, -20.0]]).tolist())
