"""The files that data sets are made of: where they are kept, what they must hold, and where they come from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import urldefrag

from ..errors import DatasetError, explain, how_to_install
from ..files import cache_folder, write_atomically
from .downloads import Access, NoAnswer, download
from .unpacking import json_lines, unpack

UCI = "https://archive.ics.uci.edu/static/public"
UCI_FILES = "https://archive.ics.uci.edu/ml/machine-learning-databases"
MNIST = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
NEWS_FOLDER = "20news-bydate-test"

#: What was tried where the packages that download are missing.
NO_POOCH = "to download it needs pooch and tqdm, which are not installed"


@dataclass(frozen=True)
class DataFile:
    """A file, its place in a folder of data sets, and its content, unpacked.

    In a URL, the part behind # names the file inside an archive.
    """

    path: str
    size: int
    sha256: str
    urls: tuple[str, ...]
    other_paths: tuple[str, ...] = ()  # the same content in another form

    @property
    def name(self) -> str:
        """The name of the file without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def member(self) -> str:
        """The file or folder to take out of an archive."""
        return urldefrag(self.urls[0]).fragment

    def fault(self, data: bytes) -> str | None:
        """Say what is wrong with a content, if anything is."""
        if len(data) != self.size:
            return f"it holds {len(data):,} bytes where {self.size:,} are expected"
        found = sha256(data).hexdigest()
        return None if found == self.sha256 else f"its SHA-256 is {found} where {self.sha256} is expected"

    def unpacked(self, data: bytes) -> bytes:
        """Unpack what a file or a server holds; raises ValueError for anything but the right content."""
        content = unpack(data, self.member)
        fault = self.fault(content)
        if fault:
            raise ValueError(fault)
        return content


def _uci(name: str, size: int, digest: str, archive: str, folder: str) -> DataFile:
    """Return a file of the UCI repository: in its archive, or as a plain file."""
    return DataFile(f"uci/{name}", size, digest, (f"{UCI}/{archive}#{name}", f"{UCI_FILES}/{folder}/{name}"))


def _mnist(name: str, size: int, digest: str) -> DataFile:
    return DataFile(f"vectors/mnist-{name}", size, digest, tuple(f"{home}/{name}.gz" for home in MNIST))


FILES = {
    file.name: file
    for file in (
        _uci(
            "ecoli.data",
            19488,
            "008bd8fbb1d8b34040c3c8c4e987cac2a7ebf116e008b140cc6441be5261ba1d",
            "39/ecoli.zip",
            "ecoli",
        ),
        _uci(
            "hayes-roth.data",
            1740,
            "7d7ca47e6d9076863fef2810c80a44a28fe7beffbc17473d4a4948100cffb2dc",
            "44/hayes+roth.zip",
            "hayes-roth",
        ),
        _uci(
            "hayes-roth.test",
            280,
            "a32f5acac46f09669ebf858fe5f75b8295e7b9307bb7766fade7d9ba9534c06a",
            "44/hayes+roth.zip",
            "hayes-roth",
        ),
        _uci(
            "lung-cancer.data",
            3649,
            "5fe074a5e4b44816e958b3f37503b1357a1543daa7eee77485040b0e3aef18f1",
            "62/lung+cancer.zip",
            "lung-cancer",
        ),
        _uci(
            "seeds_dataset.txt",
            9300,
            "1f3f83c0d8485ae9148061389d19628607e3f5660e3d6f40ec9102fb398bb12f",
            "236/seeds.zip",
            "00236",
        ),
        _uci(
            "letter-recognition.data",
            712565,
            "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
            "59/letter+recognition.zip",
            "letter-recognition",
        ),
        DataFile(  # the cells of the workbook as CSV: spreadsheets write the same cells as other bytes
            "uci/perfume_data.csv",
            3552,
            "71b9c5cd25836d53789cc5031198844064110048cd0ed9fa55165b95e2d2243f",
            (f"{UCI}/303/perfume+data.zip#perfume_data.xlsx", f"{UCI_FILES}/00303/perfume_data.xlsx"),
            ("uci/perfume_data.xlsx",),
        ),
        _mnist(
            "t10k-images-idx3-ubyte",
            7840016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        _mnist(
            "t10k-labels-idx1-ubyte",
            10008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
        DataFile(
            f"20news/{NEWS_FOLDER}.jsonl",
            14615849,
            "6fa94eb5a4f21256d279568efecfd47f09e25c85a818d087b1ba69ae4d56bfd6",
            (
                f"https://ndownloader.figshare.com/files/5975967#{NEWS_FOLDER}",  # where scikit-learn has it from
                f"http://qwone.com/~jason/20Newsgroups/20news-bydate.tar.gz#{NEWS_FOLDER}",
            ),
            ("20news/20news-bydate.tar.gz",),
        ),
    )
}


def content_of(file: DataFile, asked: str, access: Access) -> bytes:
    """Return what a file holds, from the folder, the cache, scikit-learn's copy or a download, the first to have it."""
    tried: list[str] = []
    cache = cache_folder()
    for folder in dict.fromkeys((access.folder, cache)):
        data = None if folder is None else _from_folder(file, folder, asked, tried, strict=folder != cache)
        if data is not None:
            return data
    try:
        data = _kept_copy_of_scikit_learn(file, cache)
        if data is None and access.download:
            data = _fetched(file, cache, access, tried)
    except OSError as error:
        given = f"Data set {asked!r} is to be kept in the cache, but {cache / file.path} cannot be written ({error})"
        raise DatasetError(explain(given, "a folder that you may write", "set RELIAC_CACHE to one")) from None
    if data is None:
        raise DatasetError(_not_at_hand(file, asked, tried, cache, access))
    return data


def _from_folder(file: DataFile, folder: Path, asked: str, tried: list[str], strict: bool) -> bytes | None:
    """Return the right content from a folder; a wrong one is an error in the user's folder, and a note in ours."""
    for path in (file.path, f"{file.path}.gz", *file.other_paths):
        place = folder / path
        if not place.is_file():
            continue
        try:
            return file.unpacked(place.read_bytes())
        except OSError as error:
            fault = f"it cannot be read: {error}"
        except ValueError as error:
            fault = str(error)
        if strict:
            given = f"{place} is not the file that data set {asked!r} is made of: {fault}"
            step = f"fetch it again from {file.urls[0]}, or take it away, so that it is downloaded"
            raise DatasetError(explain(given, "the original file, packed with gzip or not", step))
        tried.append(f"{place} is damaged: {fault}")
        return None
    tried.append(f"{folder / file.path} is not there")
    return None


def _kept_copy_of_scikit_learn(file: DataFile, cache: Path) -> bytes | None:
    """Return the test posts of 20 Newsgroups from scikit-learn's own cache, if it has them, and keep them in ours."""
    home = Path(os.environ.get("SCIKIT_LEARN_DATA") or "~/scikit_learn_data").expanduser()
    if not file.path.startswith("20news/") or not any(home.glob("20news-bydate*.pkz")):
        return None
    from sklearn.datasets import fetch_20newsgroups

    try:
        found = fetch_20newsgroups(data_home=home, subset="test", shuffle=False, download_if_missing=False)
    except Exception:  # a damaged cache of another library may fail in any way, and is not needed
        return None
    names = [Path(name).parts[-2:] for name in found.filenames]
    texts = (text.encode("latin-1") for text in found.data)
    data = json_lines({(group, name): text for (group, name), text in zip(names, texts, strict=True)})
    if file.fault(data):
        return None
    (cache / file.path).parent.mkdir(parents=True, exist_ok=True)
    write_atomically(cache / file.path, data)
    return data


def _fetched(file: DataFile, cache: Path, access: Access, tried: list[str]) -> bytes | None:
    """Return the right content from the first of its addresses that has it; it is in the cache then."""
    for url in file.urls:
        address = access.address(url)
        try:
            return download(address, cache / file.path, file.sha256, file.unpacked, access)
        except NoAnswer as failure:
            tried.append(f"{address}: {failure}")
        except ImportError:
            tried.append(NO_POOCH)
            break
    return None


def _not_at_hand(file: DataFile, asked: str, tried: list[str], cache: Path, access: Access) -> str:
    """Say what was tried, and where a user can put the file."""
    url = urldefrag(file.urls[0]).url
    packed = url.endswith(".zip")
    by_hand = f"fetch {url}, take {file.member} out of it, and put that" if packed else f"fetch {url}, and put it"
    place = file.other_paths[0] if file.other_paths else f"{file.path}.gz" if url.endswith(".gz") else file.path
    target = (access.folder or cache) / place
    if NO_POOCH in tried:
        by_hand = f"{how_to_install('data')}, or {by_hand}"
    return explain(
        f"Data set {asked!r} needs {file.path}, which is not at hand. Tried: {'; '.join(tried)}",
        "a connection to one of these servers, or the file on this machine" if access.download else "download=True",
        f"{by_hand} at {target}, or as {place} in another folder that the environment variable RELIAC_DATA names",
    )
