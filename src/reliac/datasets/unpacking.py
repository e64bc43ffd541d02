"""What a download or a file holds, unpacked: gzip, zip, a workbook as CSV, an archive of posts as lines of JSON."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO
from xml.etree import ElementTree

#: Nothing that is read here is larger; what says it is, is not what was asked for.
LARGEST = 2**27

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
WORKBOOK = "xl/worksheets/sheet1.xml"


def unpack(data: bytes, member: str = "") -> bytes:
    """Unpack ``data`` as often as it is packed; raises ValueError for what cannot be unpacked.

    ``member`` is the file of a zip archive, or the folder of a tar archive.
    """
    try:
        while True:
            if data.startswith(GZIP):
                data = _read_all(gzip.GzipFile(fileobj=io.BytesIO(data)))
            elif data.startswith(ZIP):
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    data = _csv(archive) if WORKBOOK in archive.namelist() else _member(archive, member)
            elif data[257:262] == b"ustar":
                return _posts(data, member)
            else:
                return data
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError, RuntimeError) as error:
        raise ValueError(f"it cannot be unpacked ({error})") from None


def _read_all(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    with stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"it is larger than {LARGEST:,} bytes")
    return data


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of a zip archive, in whatever folder it lies there."""
    for inside in archive.namelist():
        if PurePosixPath(inside).name == name:
            return _read_all(archive.open(inside))
    raise ValueError(f"the archive holds no {name}, but {', '.join(archive.namelist()[:5]) or 'nothing'}")


def _csv(archive: zipfile.ZipFile) -> bytes:
    """Write the first sheet of a workbook as CSV; numbers lose the point that a spreadsheet may have given them."""
    try:
        shared: list[str] = []
        if "xl/sharedStrings.xml" in archive.namelist():
            table = ElementTree.fromstring(_read_all(archive.open("xl/sharedStrings.xml")))
            shared = ["".join(part.text or "" for part in item.iterfind(".//{*}t")) for item in table]
        sheet = ElementTree.fromstring(_read_all(archive.open(WORKBOOK)))
        rows = [[_cell(cell, shared) for cell in row.iterfind("{*}c")] for row in sheet.iterfind(".//{*}row")]
    except (ElementTree.ParseError, LookupError) as error:
        raise ValueError(f"the workbook cannot be read ({error})") from None
    text = io.StringIO()
    filled = [[cell for cell in row if cell] for row in rows]
    csv.writer(text, lineterminator="\n").writerows(row for row in filled if row)
    return text.getvalue().encode("utf-8")


def _cell(cell: ElementTree.Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(part.text or "" for part in cell.iterfind(".//{*}t")).strip()
    value = (cell.findtext("{*}v") or "").strip()
    if cell.get("t") == "s":
        return shared[int(value)].strip()
    if value and cell.get("t", "n") == "n":
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return value


def _posts(data: bytes, folder: str) -> bytes:
    """Write the files below ``folder`` as lines of JSON, by group and then by name, as texts."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        found = {}
        for entry in archive:
            parts = PurePosixPath(entry.name).parts
            if entry.isfile() and len(parts) == 3 and parts[0] == folder:
                content = archive.extractfile(entry)
                found[parts[1], parts[2]] = content.read() if content else b""
    return json_lines(found)


def json_lines(posts: dict[tuple[str, str], bytes]) -> bytes:
    """Write posts by (group, id) as lines of JSON; Latin-1 maps every byte to the letter of the same number."""
    lines = (
        json.dumps({"id": name, "group": group, "text": posts[group, name].decode("latin-1")}) + "\n"
        for group, name in sorted(posts)
    )
    return "".join(lines).encode("ascii")
