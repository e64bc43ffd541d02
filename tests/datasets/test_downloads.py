"""Downloads from a server in this process, which also misbehaves: what arrives is right, or nothing is kept."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zlib

import numpy as np
import pytest

from reliac.datasets import load, load_texts
from reliac.datasets.downloads import make_access
from reliac.datasets.files import FILES, DataFile, cache_folder, content_of
from reliac.errors import DatasetError
from servers import Server, archived, closed_address, zipped

pytestmark = pytest.mark.usefixtures("own_places")

TOY = b"1,2,a\n3,4,b\n" * 500
HOST = "data.example"


@pytest.fixture
def server():
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.stopping.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def no_pauses(monkeypatch):
    """Do not wait between two attempts."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


def toy(*urls, content=TOY):
    """A file of a data set, found at these paths of a host that does not exist."""
    urls = urls or ("/toy.csv",)
    found = hashlib.sha256(content).hexdigest()
    return DataFile("uci/toy.csv", len(content), found, tuple(f"http://{HOST}{url}" for url in urls))


def fetch(server, file=None, **options):
    options = {"folder": None, "download": True, "progress": None, "timeout": 5.0, "attempts": 2} | options
    return content_of(file or toy(), "toy", make_access(mirror=server.address, **options))


def cached():
    """Everything in the cache, hidden files included."""
    return sorted(str(path.relative_to(cache_folder())) for path in cache_folder().rglob("*") if path.is_file())


def test_a_download_is_kept_and_not_asked_for_again(server):
    server.answers[f"/{HOST}/toy.csv"] = TOY
    assert fetch(server) == TOY
    assert cached() == ["uci/toy.csv"]
    server.answers.clear()
    assert fetch(server) == TOY
    assert fetch(server, download=False) == TOY
    assert len(server.asked) == 1


def test_a_file_in_the_folder_is_taken_before_any_download(server, tmp_path):
    (tmp_path / "uci").mkdir()
    (tmp_path / "uci" / "toy.csv.gz").write_bytes(gzip.compress(TOY))
    assert fetch(server, folder=tmp_path) == TOY
    assert server.asked == []
    assert cached() == []


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("/toy.csv.gz", gzip.compress(TOY)),
        ("/toy.zip#toy.csv", zipped(toy_dot_names=b"about", toy_dot_csv=TOY)),
        ("/toy.zip#toy.csv", zipped(folder__toy_dot_csv=TOY)),
        ("/toy.zip#toy.csv.gz", zipped(toy_dot_csv_dot_gz=gzip.compress(TOY))),
    ],
    ids=["gzip", "zip", "folder in a zip", "gzip in a zip"],
)
def test_what_is_packed_is_unpacked_and_its_content_is_checked(server, url, answer):
    server.answers[f"/{HOST}{url.partition('#')[0]}"] = answer
    assert fetch(server, toy(url)) == TOY
    assert (cache_folder() / "uci" / "toy.csv").read_bytes() == TOY


def test_a_transfer_that_the_server_packs_is_unpacked(server):
    def answer(request):
        packed = gzip.compress(TOY)
        request.start(len(packed), Content_Encoding="gzip")
        request.wfile.write(packed)

    server.answers[f"/{HOST}/toy.csv"] = answer
    assert fetch(server) == TOY


def test_an_answer_without_a_length_is_read_to_its_end(server):
    def answer(request):
        request.start()
        request.wfile.write(TOY)

    server.answers[f"/{HOST}/toy.csv"] = answer
    assert fetch(server) == TOY


def truncated(request):
    request.start(len(TOY))
    request.wfile.write(TOY[:1000])


def silent(request):
    request.server.stopping.wait(10)


def dripping(request):
    request.start(len(TOY))
    for place in range(0, len(TOY), 10):
        request.wfile.write(TOY[place : place + 10])
        request.wfile.flush()
        if request.server.stopping.wait(0.05):
            return


def rude(request):
    request.connection.close()


def broken_chunks(request):
    request.protocol_version = "HTTP/1.1"
    request.start(Transfer_Encoding="chunked", Connection="close")
    request.wfile.write(b"ff\r\nnot that much\r\n")


@pytest.mark.parametrize(
    ("answer", "words", "times"),
    [
        (truncated, r"the connection broke off \(IncompleteRead\(1000 bytes read, 5000 more .*\)\), 2 attempts", 2),
        (silent, r"no answer within 0.3 s, 2 attempts", 2),
        (dripping, r"the answer is stuck: \d+ bytes in 0 s, 2 attempts", 2),
        (rude, r"the connection broke off \(.+\), 2 attempts", 2),
        (broken_chunks, r"the connection broke off \(.+\), 2 attempts", 2),
        (500, r"the server said 500 Internal Server Error, 2 attempts", 2),
        (404, r"the server said 404 Not Found(?!, )", 1),
        (403, r"the server said 403 Forbidden(?!, )", 1),
        (TOY[:-1] + b"x", r"wrong content: its SHA-256 is [0-9a-f]{64} where [0-9a-f]{64} is expected", 1),
        (b"<html>Sign in first</html>", r"wrong content: it holds 26 bytes where 6,000 are expected", 1),
        (gzip.compress(TOY)[:-20], r"wrong content: it cannot be unpacked", 1),
        (zipped(other=b"1"), r"wrong content: the archive holds no toy.csv, but other", 1),
        (b"PK\x03\x04 no archive", r"wrong content: it cannot be unpacked \(File is not a zip file\)", 1),
    ],
    ids=(
        *("truncated", "silent", "dripping", "rude", "broken chunks", "500", "404", "403"),
        *("one byte wrong", "a page", "half a gzip", "another zip", "no zip"),
    ),
)
def test_a_bad_answer_is_told_and_leaves_nothing(server, no_pauses, answer, words, times):
    server.answers[f"/{HOST}/toy.csv"] = answer
    with pytest.raises(DatasetError, match=words) as caught:
        fetch(server, toy("/toy.csv#toy.csv"), timeout=0.3)
    assert f"{server.address}/{HOST}/toy.csv: " in str(caught.value)
    assert len(server.asked) == times
    assert cached() == []


@pytest.mark.parametrize("first", [503, truncated, rude], ids=["busy", "truncated", "rude"])
def test_what_passes_is_asked_for_again(server, no_pauses, first):
    server.answers[f"/{HOST}/toy.csv"] = [first, TOY]
    assert fetch(server) == TOY
    assert len(server.asked) == 2


def test_the_next_address_is_asked_where_the_first_has_nothing_good(server):
    server.answers = {f"/{HOST}/old.zip": b"moved", f"/{HOST}/new.csv": TOY}
    assert fetch(server, toy("/old.zip#toy.csv", "/new.csv")) == TOY
    assert server.asked == [f"/{HOST}/old.zip", f"/{HOST}/new.csv"]


def test_a_damaged_file_in_the_cache_is_replaced_by_a_good_one_only(server):
    kept = cache_folder() / "uci" / "toy.csv"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"damaged")
    server.answers[f"/{HOST}/toy.csv"] = b"wrong as well"
    with pytest.raises(DatasetError, match=r"toy\.csv is damaged: it holds 7 bytes .*wrong content"):
        fetch(server)
    assert kept.read_bytes() == b"damaged"
    server.answers[f"/{HOST}/toy.csv"] = TOY
    assert fetch(server) == TOY
    assert kept.read_bytes() == TOY
    assert cached() == ["uci/toy.csv"]


def test_a_good_file_in_the_cache_is_never_replaced(server):
    server.answers[f"/{HOST}/toy.csv"] = TOY
    fetch(server)
    before = (cache_folder() / "uci" / "toy.csv").stat()
    server.answers[f"/{HOST}/toy.csv"] = b"wrong"
    assert fetch(server) == TOY
    after = (cache_folder() / "uci" / "toy.csv").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_cache_that_cannot_be_written_is_named(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("RELIAC_CACHE", str(tmp_path / "file" / "cache"))
    server.answers[f"/{HOST}/toy.csv"] = TOY
    with pytest.raises(DatasetError, match=r"kept in the cache, but .* cannot be written .*set RELIAC_CACHE"):
        fetch(server)


@pytest.mark.skipif(sys.platform == "win32", reason="no rights of that kind")
def test_others_can_read_the_cache_as_far_as_the_rights_of_new_files_allow(server, tmp_path):
    server.answers[f"/{HOST}/toy.csv"] = TOY
    fetch(server)
    (tmp_path / "new").touch()
    assert (cache_folder() / "uci" / "toy.csv").stat().st_mode == (tmp_path / "new").stat().st_mode


# --- without pooch ---


@pytest.mark.parametrize("package", ["pooch", "tqdm.auto"])
def test_without_the_packages_that_download_the_error_says_what_to_install_and_what_else_helps(
    server, monkeypatch, package
):
    monkeypatch.setitem(sys.modules, package, None)
    server.answers[f"/{HOST}/toy.csv"] = TOY
    words = r"needs pooch and tqdm, .*Allowed: .*Next: in .* pip install '.\[data\]', or fetch http.* at .*toy\.csv"
    with pytest.raises(DatasetError, match=words):
        fetch(server)
    assert cached() == []


def test_what_is_at_hand_needs_nothing_that_downloads():
    code = (
        "import sys; from reliac import datasets; datasets.load('iris')\n"
        "try: datasets.load('ecoli', download=False)\n"
        "except OSError: sys.exit(bool({'pooch', 'requests', 'tqdm'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- no network ---


def test_without_a_network_the_error_says_what_was_tried_and_where_to_put_the_file():
    gone = closed_address()
    with pytest.raises(DatasetError) as caught:
        load("ecoli", mirror=gone)
    words = str(caught.value)
    target = cache_folder() / "uci" / "ecoli.data"
    assert words.startswith(
        f"Data set 'ecoli' needs uci/ecoli.data, which is not at hand. Tried: {target} is not there; "
    )
    assert f"{gone}/archive.ics.uci.edu/static/public/39/ecoli.zip: the server cannot be reached (" in words
    assert f"{gone}/archive.ics.uci.edu/ml/machine-learning-databases/ecoli/ecoli.data: the server" in words
    assert words.endswith(
        "Next: fetch https://archive.ics.uci.edu/static/public/39/ecoli.zip, take ecoli.data out of it, and put that "
        f"at {target}, or as uci/ecoli.data in another folder that the environment variable RELIAC_DATA names."
    )
    assert isinstance(caught.value, OSError)
    assert cached() == []


def test_the_reason_is_that_of_the_download_even_while_another_error_is_handled():
    try:
        raise RuntimeError("of somebody else")
    except RuntimeError:
        with pytest.raises(DatasetError, match=r"the server cannot be reached \(.*refused\)"):
            load("ecoli", mirror=closed_address())


def test_the_mirror_comes_from_the_environment_too(monkeypatch):
    monkeypatch.setenv("RELIAC_MIRROR", closed_address())
    with pytest.raises(DatasetError, match=r"127\.0\.0\.1.*perfume.*put that at .*perfume_data\.xlsx"):
        load("perfume")
    with pytest.raises(DatasetError, match=r"fetch https://\S+, and put it at .*20news-bydate\.tar\.gz"):
        load("news-sci")
    with pytest.raises(DatasetError, match=r"fetch https://\S+, and put it at .*mnist-t10k-images-idx3-ubyte\.gz"):
        load("mnist-10k")


def test_what_the_error_advises_works(data_folder, tmp_path):
    place = cache_folder() / "uci" / "ecoli.data"
    place.parent.mkdir(parents=True)
    place.write_bytes((data_folder / "uci" / "ecoli.data").read_bytes())
    assert load("ecoli", download=False).X.shape == (336, 7)


def test_without_permission_nothing_is_downloaded(server):
    server.answers[f"/{HOST}/toy.csv"] = TOY
    with pytest.raises(DatasetError, match=r"Allowed: download=True\. Next: fetch"):
        fetch(server, download=False)
    assert server.asked == []


def test_the_cache_is_where_the_environment_says(tmp_path, monkeypatch):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("RELIAC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert cache_folder() == tmp_path / "shared" / "reliac"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert "reliac" in str(cache_folder())


# --- the real files through the server ---


@pytest.fixture(scope="session")
def posts(data_folder):
    with gzip.open(data_folder / "20news" / "20news-bydate-test.jsonl.gz", "rt", encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    return {(post["group"], post["id"]): post["text"].encode("latin-1") for post in reversed(read)}


@pytest.mark.parametrize("name", ["ecoli", "hayes-roth", "lung-cancer", "seeds", "letter", "perfume", "mnist-10k"])
def test_data_sets_are_loaded_from_archives_as_their_homes_serve_them(name, server, data_folder):
    for file in FILES.values():
        url, _, member = file.urls[0].removeprefix("https://").partition("#")
        places = (data_folder / path for path in (*file.other_paths, file.path, f"{file.path}.gz"))
        source = next(place for place in places if place.exists())
        content = source.read_bytes()
        if member and not file.path.startswith("20news"):
            content = gzip.decompress(content) if source.suffix == ".gz" else content
            others = {other.member for other in FILES.values() if url in other.urls[0]}
            content = {member: content} | {one: (data_folder / "uci" / one).read_bytes() for one in others - {member}}
            content = zipped(**{one.replace(".", "_dot_"): data for one, data in content.items()})
        server.answers[f"/{url}"] = content
    found = load(name, mirror=server.address)
    assert found.X.shape == load(name, data_folder).X.shape
    assert np.array_equal(found.X, load(name, data_folder).X, equal_nan=True)
    server.answers.clear()
    assert np.array_equal(found.y, load(name, mirror=server.address).y)


def test_posts_are_loaded_from_the_archive_of_both_parts(server, data_folder, posts):
    outside = [("20news-bydate-train/sci.space/1", b"other part"), ("20news-bydate-test/README", b"no post")]
    server.answers["/ndownloader.figshare.com/files/5975967"] = archived(posts, outside)
    found = load_texts("news-sci", mirror=server.address)
    assert found.texts == load_texts("news-sci", data_folder).texts
    assert cached() == ["20news/20news-bydate-test.jsonl"]


def test_posts_that_scikit_learn_has_are_not_downloaded(tmp_path, data_folder, posts):
    from sklearn.utils import Bunch

    groups = sorted({group for group, _ in posts})
    part = Bunch(
        data=[text.decode("latin-1") for text in posts.values()],
        filenames=np.array([os.path.join("20news-bydate-test", *place) for place in posts]),
        target=np.array([groups.index(group) for group, _ in posts]),
        target_names=groups,
    )
    (tmp_path / "scikit-learn").mkdir()
    packed = zlib.compress(pickle.dumps({"train": part, "test": part}), 1)
    (tmp_path / "scikit-learn" / "20news-bydate_py3.pkz").write_bytes(packed)
    found = load_texts("news-rec", mirror=closed_address())
    assert found.texts == load_texts("news-rec", data_folder).texts
    (tmp_path / "scikit-learn" / "20news-bydate_py3.pkz").write_bytes(b"damaged")
    cache_folder().joinpath("20news", "20news-bydate-test.jsonl").unlink()
    with pytest.raises(DatasetError, match="cannot be reached"):
        load_texts("news-rec", mirror=closed_address())


# --- progress and Ctrl-C ---


def slow(request):
    request.start(len(TOY))
    for place in (0, 3000):
        request.wfile.write(TOY[place : place + 3000])
        request.wfile.flush()
        request.server.stopping.wait(1.1)


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (False, False), (None, False)])
def test_a_slow_download_shows_a_bar_when_asked_or_on_a_terminal(progress, shown, server, capsys):
    server.answers[f"/{HOST}/toy.csv"] = slow
    fetch(server, progress=progress)
    told = capsys.readouterr().err
    assert told.startswith("\r127.0.0.1") == told.endswith("\n") == ("| 6.00k/6.00k [00:" in told) == shown
    assert shown or told == ""


def test_a_quick_download_shows_no_bar(server, capsys):
    server.answers[f"/{HOST}/toy.csv"] = TOY
    fetch(server, progress=True)
    assert capsys.readouterr().err == ""


def test_a_function_gets_every_piece(server):
    server.answers[f"/{HOST}/toy.csv"] = slow
    told = []
    fetch(server, progress=told.append)
    assert told[-1].received == told[-1].total == len(TOY)
    assert told[0].received < len(TOY)
    assert told[0].url == f"{server.address}/{HOST}/toy.csv"


def test_an_interrupt_between_two_pieces_leaves_nothing(server):
    def interrupt(state):
        raise KeyboardInterrupt

    server.answers[f"/{HOST}/toy.csv"] = slow
    with pytest.raises(KeyboardInterrupt):
        fetch(server, progress=interrupt)
    assert cached() == []
    assert len(server.asked) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for another process")
def test_ctrl_c_during_a_download_leaves_nothing(server):
    server.answers["/archive.ics.uci.edu/static/public/39/ecoli.zip"] = dripping
    code = f"from reliac import datasets; datasets.load('ecoli', mirror={server.address!r})"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not server.asked and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        words = process.communicate(timeout=30)[1]
    finally:
        process.kill()
    assert "KeyboardInterrupt" in words
    assert process.returncode != 0
    assert cached() == []
