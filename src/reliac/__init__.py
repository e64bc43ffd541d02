"""Reliable agglomerative clustering: merge all pairs of clusters that are each other's nearest neighbour."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "cluster": "api",
    "cluster_edges": "api",
    "cluster_groups": "api",
    "linkage": "linkages",
    "linkage_vector": "linkages",
    "single": "linkages",
    "complete": "linkages",
    "average": "linkages",
    "weighted": "linkages",
    "centroid": "linkages",
    "median": "linkages",
    "ward": "linkages",
    "load": "api",
    "neighbors": "run.neighbors",
    "warmup": "api",
    "ClusterTree": "tree.clustertree",
    "TreeTable": "tree.treetable",
    "GroupTrees": "run.groups",
    "Neighbors": "input.neighbors",
    "DatasetError": "errors",
    "Interrupted": "errors",
    "NotEuclideanWarning": "errors",
    "Progress": "run.history",
    "ReliableAgglomerativeClustering": "estimators",
    "ReliableFeatureAgglomeration": "estimators",
    "ReliableOutlierDetector": "estimators",
}

#: Modules that are public as such.
_MODULES = ("datasets",)

__all__ = ["__version__", *_HOMES, *_MODULES]

if TYPE_CHECKING:
    from . import datasets as datasets
    from .api import cluster as cluster
    from .api import cluster_edges as cluster_edges
    from .api import cluster_groups as cluster_groups
    from .api import load as load
    from .api import warmup as warmup
    from .errors import DatasetError as DatasetError
    from .errors import Interrupted as Interrupted
    from .errors import NotEuclideanWarning as NotEuclideanWarning
    from .estimators import ReliableAgglomerativeClustering as ReliableAgglomerativeClustering
    from .estimators import ReliableFeatureAgglomeration as ReliableFeatureAgglomeration
    from .estimators import ReliableOutlierDetector as ReliableOutlierDetector
    from .input.neighbors import Neighbors as Neighbors
    from .linkages import average as average
    from .linkages import centroid as centroid
    from .linkages import complete as complete
    from .linkages import linkage as linkage
    from .linkages import linkage_vector as linkage_vector
    from .linkages import median as median
    from .linkages import single as single
    from .linkages import ward as ward
    from .linkages import weighted as weighted
    from .run.groups import GroupTrees as GroupTrees
    from .run.history import Progress as Progress
    from .run.neighbors import neighbors as neighbors
    from .tree.clustertree import ClusterTree as ClusterTree
    from .tree.treetable import TreeTable as TreeTable


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import reliac`` stays quick."""
    if name in _HOMES:
        value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'reliac' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
