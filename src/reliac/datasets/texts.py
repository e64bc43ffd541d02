"""The newsgroups: posts as texts, without headers, footers and quotes if wanted, and as tf-idf vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import unknown_name
from ..input.numbers import Names
from .catalogue import Parts, class_counts, entry_of, newsgroups
from .downloads import Access
from .files import FILES, NEWS_FOLDER, content_of

#: What tells scikit-learn that a line is a quotation, or announces one. It has no public function that takes a text,
#: so its rules stand here once more; a test compares the two on all posts.
_QUOTATION = re.compile(r"^[>|]|^In article|^Quoted from|writes in|(?:writes|wrote|says|said):")


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """Documents and their groups."""

    name: str
    texts: list[str] = field(repr=False)
    y: Names
    row_names: Names

    @property
    def class_counts(self) -> dict[Any, int]:
        """The number of documents of every group."""
        return class_counts(self.y)

    def __repr__(self) -> str:
        return f"Texts {self.name!r}: {len(self.texts)} documents, {len(self.class_counts)} groups"


def read_texts(name: str, remove: Iterable[str], access: Access) -> Texts:
    """Return the posts of a data set, by group and then by file name as a text, without the parts in ``remove``."""
    if entry_of(name).make is not None:
        raise ValueError(unknown_name("data set of texts", name, newsgroups()))
    unwanted = as_parts(remove)
    prefix = name.removeprefix("news-") + "."
    lines = content_of(FILES[f"{NEWS_FOLDER}.jsonl"], name, access).splitlines()
    posts = [post for post in map(json.loads, lines) if post["group"].startswith(prefix)]
    return Texts(
        name,
        [_stripped(post["text"], unwanted) for post in posts],
        np.array([post["group"] for post in posts]),
        np.array([f"{post['group']}/{post['id']}" for post in posts]),
    )


def as_parts(remove: Iterable[str]) -> tuple[str, ...]:
    """Check the parts of a post that a user wants taken out."""
    parts = (remove,) if isinstance(remove, str) else tuple(remove)
    for part in parts:
        if part not in _STRIPPERS:
            raise ValueError(unknown_name("part of a post", part, _STRIPPERS))
    return parts


def to_vectors(found: Texts, settings: dict[str, Any]) -> Parts:
    """Return the texts as tf-idf; ``settings`` are those of scikit-learn's ``TfidfVectorizer``."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**settings)
    X = vectorizer.fit_transform(found.texts)
    words = tuple(vectorizer.get_feature_names_out().tolist())
    ids = np.array([name.rpartition("/")[2] for name in found.row_names])
    return Parts(X, found.y, words, {"id": ids, "group": found.y}, found.row_names)


# --- what can be taken out of a post ---


def _stripped(text: str, unwanted: tuple[str, ...]) -> str:
    for part, strip in _STRIPPERS.items():
        if part in unwanted:
            text = strip(text)
    return text


def _without_headers(text: str) -> str:
    """Keep what follows the first blank line."""
    return text.partition("\n\n")[2]


def _without_footers(text: str) -> str:
    """Keep what stands above the last line that is blank or made of hyphens: a signature stands below it."""
    lines = text.strip().split("\n")
    borders = [place for place, line in enumerate(lines) if not line.strip().strip("-")]
    return "\n".join(lines[: borders[-1]]) if any(borders) else text


def _without_quotes(text: str) -> str:
    """Drop the lines that are quotations, or announce one."""
    return "\n".join(line for line in text.split("\n") if not _QUOTATION.search(line))


#: In scikit-learn's order.
_STRIPPERS = {"headers": _without_headers, "footers": _without_footers, "quotes": _without_quotes}
