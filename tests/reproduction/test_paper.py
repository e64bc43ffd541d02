"""The paper's reliable column on Hayes Roth (132 rows, ties everywhere), to four digits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, v_measure_score

import reliac

#: criterion that was run -> the published AMI, ARI and V-measure. The paper's "average" was run as weighted.
PUBLISHED = {
    "single": (0.2336, 0.2086, 0.3472),
    "complete": (0.2338, 0.2451, 0.3010),
    "weighted": (0.2338, 0.2451, 0.3010),
    "centroid": (0.0030, 0.0058, 0.0203),
    "ward": (0.0808, 0.1073, 0.0995),
}


@pytest.mark.parametrize("criterion", PUBLISHED)
def test_the_published_reliable_scores_on_hayes_roth_are_reproduced(criterion, data_folder):
    table = np.loadtxt(data_folder / "uci" / "hayes-roth.data", delimiter=",", dtype=int)
    X, y = table[:, 1:5], table[:, 5]
    tree = reliac.cluster(X, criterion)
    labels = cut_tree(tree.linkage_matrix(order="level"), n_clusters=3).ravel()
    scores = (
        adjusted_mutual_info_score(y, labels, average_method="max"),
        adjusted_rand_score(y, labels),
        v_measure_score(y, labels),
    )
    np.testing.assert_allclose(scores, PUBLISHED[criterion], atol=1e-4)
