"""Stop early, look at the clusters, and go on with the interesting ones only.

Three clouds of points with very different densities. The standard strategy (alpha=0) spends its first joins on the
densest cloud; the reliable strategy joins wherever two clusters are each other's nearest neighbour, so all clouds
grow from the first level on.
"""

import numpy as np

import reliac

rng = np.random.default_rng(0)
centres, spreads = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 60.0]]), np.array([0.5, 2.0, 8.0])
cloud = np.repeat([0, 1, 2], 50)
points = centres[cloud] + spreads[cloud, None] * rng.normal(size=(150, 2))

print("Objects still alone in each cloud when 75 of 149 joins are done:")
for name, alpha in (("standard", 0.0), ("reliable", 1.0)):
    tree = reliac.cluster(points, "average", alpha=alpha, n_clusters=75)
    alone = np.bincount(cloud[tree.join_levels > tree.n_levels], minlength=3)
    print(f"  {name}: {alone.tolist()} after {tree.n_levels} levels")

early = reliac.cluster(points, "average", max_level=4)
largest = np.bincount(early.labels()).argsort()[::-1][:5]
print(f"After 4 levels {early.n_clusters} clusters are left; the five largest go on.")
grown = early.develop(largest)
print(grown)
print("Rows of the input that the new tree is made of:", grown.objects[:10], "...")
