"""The published figures: 13 data sets, five criteria, two strategies, three measures."""

from __future__ import annotations

from typing import NamedTuple

#: The tables' columns come in pairs: the standard strategy, then the reliable one.
CRITERIA = ("single", "complete", "average", "centroid", "ward")
STRATEGIES = ("standard", "reliable")

#: Data sets by the names they are printed with, and by those of :mod:`reliac.datasets`; None: not public.
DATASETS: dict[str, str | None] = {
    "Ecoli": "ecoli",
    "Hayes Roth": "hayes-roth",
    "Iris": "iris",
    "Lung Cancer": "lung-cancer",
    "Perfume": "perfume",
    "Seeds": "seeds",
    "Wine": "wine",
    "COMP": "news-comp",
    "REC": "news-rec",
    "SCI": "news-sci",
    "Real I": None,
    "Real II": None,
    "Real III": None,
}


class Scores(NamedTuple):
    """The three measures of one clustering."""

    ami: float
    ari: float
    v: float


class Place(NamedTuple):
    """Where three figures stand in the tables: one data set, one criterion, one strategy."""

    dataset: str
    criterion: str
    strategy: str


_TABLES = """
             single         complete       average        centroid       ward
Ecoli,       ami, 0.0564 0.0564  0.6235 0.6235  0.5907 0.6812  0.0462 0.0383  0.5473 0.5445
Ecoli,       ari, 0.0386 0.0386  0.6908 0.6908  0.6974 0.7509  0.0297 0.0252  0.4686 0.3914
Ecoli,       v,   0.1355 0.1355  0.6789 0.6789  0.6683 0.7115  0.1008 0.0819  0.6123 0.5658
Hayes Roth,  ami, 0.0161 0.2336  0.0354 0.2338  0.1629 0.2338  0.0000 0.0030  0.0249 0.0808
Hayes Roth,  ari, 0.0185 0.2086  0.0327 0.2451  0.1620 0.2451  0.0000 0.0058  0.0496 0.1073
Hayes Roth,  v,   0.0579 0.3472  0.0556 0.3010  0.2164 0.3010  0.0000 0.0203  0.0412 0.0995
Iris,        ami, 0.5821 0.5821  0.6963 0.6963  0.6301 0.6301  0.7934 0.7934  0.7578 0.7578
Iris,        ari, 0.5638 0.5638  0.6423 0.6423  0.5659 0.5659  0.7592 0.7592  0.7312 0.7312
Iris,        v,   0.7175 0.7175  0.7221 0.7221  0.7046 0.7046  0.8057 0.8057  0.7701 0.7701
Lung Cancer, ami, 0.0149 0.0149  0.1537 0.2070  0.0239 0.1413  0.0000 0.0000  0.1766 0.1684
Lung Cancer, ari, 0.0371 0.0371  0.2809 0.3533  0.1327 0.1170  0.0000 0.0000  0.3388 0.1698
Lung Cancer, v,   0.0287 0.0287  0.1810 0.2303  0.0742 0.1743  0.0000 0.0000  0.2140 0.2030
Perfume,     ami, 0.7024 0.7024  0.7332 0.7332  0.7601 0.7595  0.7544 0.7664  0.8246 0.8246
Perfume,     ari, 0.4667 0.4667  0.5096 0.5096  0.5651 0.5600  0.5600 0.5749  0.6590 0.6590
Perfume,     v,   0.8117 0.8117  0.8251 0.8251  0.8437 0.8417  0.8380 0.8442  0.8796 0.8796
Seeds,       ami, 0.0283 0.0283  0.6029 0.6029  0.6083 0.7055  0.6034 0.6140  0.7243 0.7243
Seeds,       ari, 0.0025 0.0025  0.5461 0.5461  0.5543 0.7320  0.5664 0.5626  0.7132 0.7132
Seeds,       v,   0.0663 0.0663  0.6152 0.6152  0.6204 0.7094  0.6150 0.6260  0.7309 0.7309
Wine,        ami, 0.0237 0.0237  0.4307 0.4307  0.3223 0.3452  0.3251 0.3251  0.4097 0.4097
Wine,        ari, 0.0054 0.0054  0.3708 0.3708  0.2926 0.3204  0.3266 0.3266  0.3684 0.3684
Wine,        v,   0.0615 0.0615  0.4423 0.4423  0.4049 0.3920  0.4277 0.4277  0.4161 0.4161
COMP,        ami, 0.0604 0.0604  0.1459 0.1459  0.0453 0.1611  0.0312 0.0341  0.1021 0.1140
COMP,        ari, 0.0531 0.0531  0.1331 0.1331  0.0040 0.1459  0.0119 0.0138  0.0290 0.0296
COMP,        v,   0.0351 0.0351  0.1857 0.1857  0.0754 0.1922  0.0515 0.0558  0.1323 0.1468
REC,         ami, 0.0228 0.0402  0.1793 0.1793  0.0330 0.2375  0.0161 0.0315  0.2574 0.2574
REC,         ari, 0.0262 0.0742  0.0905 0.0905  0.0025 0.2266  0.0014 0.0052  0.2162 0.2162
REC,         v,   0.0307 0.0614  0.2310 0.2310  0.0609 0.2737  0.0308 0.0569  0.3124 0.3124
SCI,         ami, 0.0617 0.0617  0.0823 0.0823  0.0387 0.1557  0.0339 0.0651  0.1997 0.3042
SCI,         ari, 0.0884 0.0884  0.0108 0.0108  0.0034 0.0782  0.0493 0.0588  0.0908 0.1688
SCI,         v,   0.0518 0.0518  0.1337 0.1337  0.0714 0.2005  0.0270 0.0339  0.2546 0.3407
Real I,      ami, 0.5782 0.5782  0.7114 0.7114  0.7813 0.8237  0.0785 0.0670  0.5976 0.7546
Real I,      ari, 0.4296 0.4296  0.4133 0.4133  0.4687 0.5699  0.0401 0.0403  0.2649 0.4969
Real I,      v,   0.7708 0.7708  0.8484 0.8484  0.8409 0.8714  0.2181 0.2016  0.7932 0.8421
Real II,     ami, 0.5711 0.5711  0.7430 0.7430  0.7704 0.8130  0.0458 0.0268  0.6542 0.8274
Real II,     ari, 0.4409 0.4409  0.4142 0.4142  0.5581 0.6685  0.0283 0.0198  0.3193 0.6176
Real II,     v,   0.7570 0.7570  0.8221 0.8221  0.8361 0.8725  0.1384 0.0925  0.8023 0.8614
Real III,    ami, 0.5389 0.5389  0.7581 0.7581  0.7209 0.7733  0.0132 0.0145  0.7156 0.8697
Real III,    ari, 0.4235 0.4235  0.4414 0.4414  0.6850 0.6443  0.0123 0.0151  0.4101 0.7042
Real III,    v,   0.7197 0.7197  0.8155 0.8155  0.8427 0.8408  0.0510 0.0594  0.8238 0.8951
"""


def _read() -> dict[Place, Scores]:
    """Collect the figures of each place from the lines of the three measures."""
    figures: dict[Place, dict[str, float]] = {}
    for line in _TABLES.strip().splitlines()[1:]:
        dataset, measure, numbers = (part.strip() for part in line.split(","))
        columns = [(criterion, strategy) for criterion in CRITERIA for strategy in STRATEGIES]
        for column, number in zip(columns, numbers.split(), strict=True):
            figures.setdefault(Place(dataset, *column), {})[measure] = float(number)
    return {place: Scores(**found) for place, found in figures.items()}


#: What is printed at every place, in the order of the tables.
PUBLISHED = _read()


def impossible(printed: Scores) -> bool:
    """Say whether no two partitions can have these scores.

    Let I be the mutual information, E what chance gives of it, M the larger of the two entropies and H their mean.
    AMI = (I - E) / (M - E) is at most I / M, since E (M - I) is not negative, and that is at most V = I / H.
    """
    return printed.ami > printed.v
