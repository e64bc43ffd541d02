"""The scikit-learn estimators: faces of :func:`reliac.cluster`, no algorithm of their own."""

from .clustering import ReliableAgglomerativeClustering as ReliableAgglomerativeClustering
from .features import ReliableFeatureAgglomeration as ReliableFeatureAgglomeration
from .outliers import ReliableOutlierDetector as ReliableOutlierDetector
