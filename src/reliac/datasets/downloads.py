"""Downloads by pooch: it asks again, checks the SHA-256, and moves a file to its place in the cache once it is whole.

What is added here: what a server sends is unpacked before its content is checked, answers that will not get better
are not asked for again, and the reasons are told in words.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

from ..errors import DatasetError, explain, need
from ..files import path_of
from ..input.options import check_count, check_number
from .unpacking import LARGEST

#: The most bytes of one piece of an answer.
BYTES_OF_A_PIECE = 2**16

#: Bytes a second, below which an answer that has outlived the time limit counts as stuck.
SLOWEST = 1024

#: Seconds before a bar is shown: what is quickly done needs none.
SECONDS_WITHOUT_BAR = 1.0

#: Answers of a server that may be other ones a moment later.
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Received:
    """How far a download has come."""

    url: str
    received: int  # bytes
    total: int | None  # as the server announced it
    seconds: float


@dataclass(frozen=True)
class Access:
    """Where files are looked for, and how they are fetched."""

    folder: Path | None
    download: bool
    progress: bool | Callable[[Received], None] | None
    timeout: float
    attempts: int
    mirror: str | None

    def address(self, url: str) -> str:
        """Return the address to ask: the URL itself, or its place on the mirror, without the part behind #."""
        plain = urldefrag(url).url
        if self.mirror is None:
            return plain
        parts = urlsplit(plain)
        return f"{self.mirror.rstrip('/')}/{parts.netloc}{parts.path}"


class NoAnswer(Exception):
    """A download failed, and another attempt would fail as well."""


class NoAnswerYet(NoAnswer, ValueError):
    """A download failed, and another attempt may succeed; pooch asks again after a ValueError."""


def make_access(folder: Any, download: bool, progress: Any, timeout: Any, attempts: Any, mirror: Any) -> Access:
    """Check the options; what is not given comes from RELIAC_DATA and RELIAC_MIRROR."""
    named = "folder" if folder is not None else "RELIAC_DATA"
    given = os.environ.get("RELIAC_DATA") or None if folder is None else folder
    place = None if given is None else Path(path_of(given, f"{named}=")).expanduser()
    if place is not None and not os.path.isdir(place):  # also where it is no name for a folder
        allowed = "a folder of data sets, with the subfolders uci, 20news and vectors"
        raise DatasetError(explain(f"{named}={str(place)!r} is no folder", allowed, "check the path, or leave it out"))
    server = os.environ.get("RELIAC_MIRROR") or None if mirror is None else mirror
    if server is not None and urlsplit(str(server)).scheme not in ("http", "https"):
        allowed = "the address of a server, with http:// or https://"
        raise ValueError(explain(f"mirror={server!r}", allowed, "leave it out to ask the public homes of the data"))
    if not callable(progress) and progress not in (None, True, False):
        allowed = "True, False, None or a function of one argument"
        raise TypeError(explain(f"progress={progress!r}", allowed, "pass progress=True for a bar"))
    return Access(
        place,
        bool(download),
        progress,
        check_number("timeout", timeout, 0.001, math.inf, "give the seconds to wait for an answer"),
        check_count("attempts", attempts, 1, math.inf, "give how often to ask a server"),
        server,
    )


def download(url: str, target: Path, known_hash: str, unpack: Callable[[bytes], bytes], access: Access) -> bytes:
    """Fetch a URL, unpack what it holds, keep that at ``target``, and return it; raises NoAnswer, or OSError.

    ``unpack`` raises ValueError for what is not the right content, which no further attempt would change.
    """
    pooch = need("pooch", "data")
    asked = 0

    def fetch(url: str, place: str, _: object) -> None:
        nonlocal asked
        asked += 1
        answer = _ask(url, access)
        try:
            content = unpack(answer)
        except ValueError as error:
            raise NoAnswer(f"wrong content: {error}") from None
        os.remove(place)  # made by pooch so that nobody else can read it; a new file has the usual rights
        Path(place).write_bytes(content)

    keeper = pooch.create(
        target.parent,
        "",
        registry={target.name: known_hash},
        urls={target.name: url},
        retry_if_failed=access.attempts - 1,
    )
    try:
        with _quiet(pooch.get_logger()):
            return Path(keeper.fetch(target.name, downloader=fetch)).read_bytes()
    except NoAnswer as failure:
        times = f", {asked} attempts" if asked > 1 else ""
        raise NoAnswer(f"{failure}{times}") from None


@contextmanager
def _quiet(logger: Any) -> Iterator[None]:
    """Leave it to the progress bar to tell about downloads."""
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)


def _ask(url: str, access: Access) -> bytes:
    """Ask a server once, by requests, which knows about proxies and certificates."""
    import requests
    from urllib3 import exceptions as broken

    from .. import __version__

    handled = sys.exc_info()[1]
    headers = {"User-Agent": f"reliac/{__version__}", "Accept-Encoding": "identity"}
    try:
        with requests.get(url, headers=headers, timeout=access.timeout, stream=True) as answer:
            if not answer.ok:
                kind = NoAnswerYet if answer.status_code in PASSING else NoAnswer
                raise kind(f"the server said {answer.status_code} {answer.reason}")
            return _read(answer, url, access)
    except requests.ConnectTimeout:  # not even connected: another attempt would only take as long
        raise NoAnswer(f"no answer within {access.timeout:g} s") from None
    except (requests.ReadTimeout, broken.ReadTimeoutError):
        raise NoAnswerYet(f"no answer within {access.timeout:g} s") from None
    except (requests.RequestException, broken.HTTPError) as error:
        first = _first_cause(error, handled)
        if any(isinstance(part, broken.ProtocolError) for part in (error, *error.args)):
            raise NoAnswerYet(f"the connection broke off ({first})") from None
        raise NoAnswer(f"the server cannot be reached ({first})") from None


def _first_cause(error: BaseException, handled: BaseException | None) -> str:
    """Return what the innermost error says: what the libraries wrap around it repeats the address.

    ``handled`` is what the caller was handling when it asked; it is no part of this.
    """
    while error.__context__ not in (None, handled):
        error = error.__context__
    return str(error) or type(error).__name__


def _read(answer: Any, url: str, access: Access) -> bytes:
    """Read an answer piece by piece, as it was sent; an endless one and a stuck one are refused."""
    announced = answer.headers.get("Content-Length", "")
    total = int(announced) if announced.isdigit() else None
    started, content = time.monotonic(), bytearray()
    with _make_bar(url, total, access.progress) as bar:
        while piece := answer.raw.read1(BYTES_OF_A_PIECE, decode_content=False):
            content += piece
            bar.update(len(piece))
            seconds = time.monotonic() - started
            if callable(access.progress):
                access.progress(Received(url, len(content), total, seconds))
            if len(content) > LARGEST:
                raise NoAnswer(f"the answer is larger than {LARGEST:,} bytes")
            if seconds > access.timeout and len(content) < SLOWEST * seconds:
                raise NoAnswerYet(f"the answer is stuck: {len(content):,} bytes in {seconds:.0f} s")
    return bytes(content)


def _make_bar(url: str, total: int | None, progress: Any) -> Any:
    """Return a progress bar; for None it is shown only where there is a terminal to show it on."""
    hidden = None if progress is None else progress is not True
    settings = {"unit": "B", "unit_scale": True, "delay": SECONDS_WITHOUT_BAR, "disable": hidden}
    return need("tqdm.auto", "data").tqdm(total=total, desc=urlsplit(url).netloc, **settings)
