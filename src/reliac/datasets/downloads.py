"""Downloads: whole or not at all, with retries, a time limit and a progress line; nothing here touches the disk."""

from __future__ import annotations

import gzip
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

from ..errors import DatasetError, explain
from ..input.options import check_count, check_number
from ..run.progress import ProgressLine
from .unpacking import GZIP, LARGEST

CHUNK = 2**16

#: Bytes a second, below which an answer that has outlived the time limit counts as stuck.
SLOWEST = 1024

#: Seconds before the second attempt; twice as long before every further one.
PAUSE = 0.5

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
    report: Callable[[Received], None]
    close: Callable[[], None]
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
    """A download failed; ``passing`` tells whether another attempt makes sense."""

    def __init__(self, reason: str, passing: bool) -> None:
        super().__init__(reason)
        self.passing = passing


def make_access(folder: Any, download: bool, progress: Any, timeout: Any, attempts: Any, mirror: Any) -> Access:
    """Check the options; what is not given comes from RELIAC_DATA and RELIAC_MIRROR."""
    named = "folder" if folder is not None else "RELIAC_DATA"
    given = os.environ.get("RELIAC_DATA") or None if folder is None else folder
    place = None if given is None else Path(given).expanduser()
    if place is not None and not place.is_dir():
        allowed = "a folder of data sets, with the subfolders uci, 20news and vectors"
        raise DatasetError(explain(f"{named}={str(place)!r} is no folder", allowed, "check the path, or leave it out"))
    server = os.environ.get("RELIAC_MIRROR") or None if mirror is None else mirror
    if server is not None and urlsplit(str(server)).scheme not in ("http", "https"):
        allowed = "the address of a server, with http:// or https://"
        raise ValueError(explain(f"mirror={server!r}", allowed, "leave it out to ask the public homes of the data"))
    report, close = _make_reporter(progress)
    return Access(
        place,
        bool(download),
        report,
        close,
        check_number("timeout", timeout, 0.001, math.inf, "give the seconds to wait for an answer"),
        check_count("attempts", attempts, 1, math.inf, "give how often to ask a server"),
        server,
    )


def _make_reporter(progress: Any) -> tuple[Callable[[Received], None], Callable[[], None]]:
    """Return what to call with every piece, and at the end; None shows a line if there is a terminal to show it on."""
    if callable(progress):
        return progress, (lambda: None)
    if progress not in (None, True, False):
        allowed = "True, False, None or a function of one argument"
        raise TypeError(explain(f"progress={progress!r}", allowed, "pass progress=True for a bar"))
    if progress is False or (progress is None and not (sys.stderr and sys.stderr.isatty())):
        return (lambda _: None), (lambda: None)
    line = ProgressLine()

    def show(state: Received) -> None:
        share = state.received / state.total if state.total else 0.0
        of_all = f" of {state.total / 1e6:.1f}" if state.total else ""
        text = f"{urlsplit(state.url).netloc}: {state.received / 1e6:.1f}{of_all} MB, {state.seconds:.0f} s"
        line.show(min(share, 1.0), text, state.seconds, done=state.received == state.total)

    return show, line.close


def download(url: str, access: Access) -> bytes:
    """Return what a URL holds, after several attempts if need be; raises NoAnswer in the end."""
    attempt = 0
    while True:
        attempt += 1
        try:
            return _ask(url, access)
        except NoAnswer as failure:
            if attempt == access.attempts or not failure.passing:
                times = f", {attempt} attempts" if attempt > 1 else ""
                raise NoAnswer(f"{failure}{times}", False) from None
            time.sleep(PAUSE * 2 ** (attempt - 1))
        finally:
            access.close()


def _ask(url: str, access: Access) -> bytes:
    """Ask a server once."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    from .. import __version__

    request = Request(url, headers={"User-Agent": f"reliac/{__version__}", "Accept-Encoding": "identity"})
    try:
        with urlopen(request, timeout=access.timeout) as answer:
            return _read(answer, url, access)
    except HTTPError as error:
        with error:
            raise NoAnswer(f"the server said {error.code} {error.reason}", error.code in PASSING) from None
    except TimeoutError:
        raise NoAnswer(_no_answer_in_time(access), True) from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):  # not even connected: another attempt would only take as long
            raise NoAnswer(_no_answer_in_time(access), False) from None
        raise NoAnswer(f"the server cannot be reached ({error.reason})", False) from None
    except (HTTPException, ConnectionError) as error:
        reason = f"the connection broke off ({str(error) or type(error).__name__})"
        raise NoAnswer(reason, True) from None
    except OSError as error:
        raise NoAnswer(f"the server cannot be reached ({error})", False) from None


def _read(answer: Any, url: str, access: Access) -> bytes:
    """Read an answer piece by piece; a short one, an endless one and a stuck one are refused."""
    announced = answer.headers.get("Content-Length", "")
    total = int(announced) if announced.isdigit() else None
    started = time.monotonic()
    pieces, received = [], 0
    while piece := answer.read1(CHUNK):
        pieces.append(piece)
        received += len(piece)
        seconds = time.monotonic() - started
        access.report(Received(url, received, total, seconds))
        if received > LARGEST:
            raise NoAnswer(f"the answer is larger than {LARGEST:,} bytes", False)
        if seconds > access.timeout and received < SLOWEST * seconds:
            raise NoAnswer(f"the answer is stuck: {received:,} bytes in {seconds:.0f} s", True)
    if total is not None and received != total:
        raise NoAnswer(f"the answer broke off after {received:,} of {total:,} bytes", True)
    data = b"".join(pieces)
    if answer.headers.get("Content-Encoding", "") == "gzip" and data.startswith(GZIP):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise NoAnswer(f"the answer cannot be unpacked ({error})", True) from None
    return data


def _no_answer_in_time(access: Access) -> str:
    return f"no answer within {access.timeout:g} s"
