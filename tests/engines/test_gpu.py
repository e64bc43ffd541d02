"""The gpu engine: the links of the vectors engine, bit for bit, whatever its levels and searches do.

torch runs on the CPU here. Constants are changed so that few objects already take the ways of many: float32 searches,
levels on the device to the last, and searches on the device for the levels on the CPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import reliac
from devices import ENOUGH, HAS_TORCH, WHY_SKIPPED
from problems import blobs, lattice
from references import problem_of_squares
from reliac.engines.choice import choose
from reliac.errors import DeviceLost

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason=WHY_SKIPPED)

SPREAD = np.random.default_rng(5)

#: Data that few searches are like another on.
DATA = {
    "blobs": np.concatenate([SPREAD.normal(c, s, (90, 5)) for c, s in ((0, 1), (8, 0.3), (20, 2))]),
    "noise": SPREAD.normal(size=(260, 20)),
    "float32": SPREAD.normal(size=(260, 7)).astype(np.float32),
    "lattice": SPREAD.integers(1, 5, (220, 4)).astype(float),
    "wide lattice": SPREAD.integers(1, 30, (220, 3)).astype(float),
    "far from zero": SPREAD.normal(size=(200, 6)) + 1e6,
    "repeated": np.repeat(SPREAD.normal(size=(50, 6)), 4, axis=0),
    "often repeated": np.repeat(SPREAD.normal(size=(8, 3)), 30, axis=0),
    "a knot": np.concatenate([SPREAD.normal(size=(130, 6)), SPREAD.normal(size=(130, 6)) * 1e-5 + 3]),
    "one dimension": SPREAD.normal(size=(200, 1)),
    "a row far away": np.concatenate([SPREAD.normal(size=(200, 6)), np.full((1, 6), 1e21)]),
    "rows far away": np.concatenate([SPREAD.normal(size=(200, 6)), SPREAD.normal(size=(9, 6)) * 1e5 + 1e7]),
    "many dimensions": SPREAD.normal(size=(120, 300)).astype(np.float32),
}

FORMS = [
    ("ward", "sqeuclidean"),
    ("ward", "euclidean"),
    ("average", "sqeuclidean"),
    ("average", "cosine"),
    ("centroid", "euclidean"),
    ("median", "sqeuclidean"),
]

OPTIONS = [
    {},
    {"alpha": 0.0},
    {"alpha": 0.28},
    {"n_clusters": 7},
    {"max_level": 2},
    {"max_distance": 1.5},
    {"tie_tolerance": 0.01},
]


@pytest.fixture
def all_on_device(monkeypatch):
    """Let few objects take the ways of many."""
    from reliac.engines.gpu import engine, levels, search

    monkeypatch.setattr(levels, "THIN_LINKS", 0)
    monkeypatch.setattr(search, "FEW_COLUMNS", 32)
    monkeypatch.setattr(search, "FEW_PRODUCTS", 0)
    monkeypatch.setattr(engine, "WORTH_ASKING", 0)
    monkeypatch.setattr(engine, "WORTH_ASKING_TO_PUSH", 0)


def same_links(X, criterion, **options):
    found, expected = (reliac.cluster(X, criterion, engine=name, **options).links for name in ("gpu", "vectors"))
    return all(np.array_equal(found[field], expected[field]) for field in expected.dtype.names)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize(("criterion", "metric"), FORMS)
def test_it_gives_the_links_of_the_vectors_engine_bit_for_bit(all_on_device, name, criterion, metric):
    X = DATA[name]
    weights = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    for options in (*OPTIONS, {"weights": weights}):
        assert same_links(X, criterion, metric=metric, **options), options


@pytest.mark.parametrize("name", ["blobs", "noise", "lattice"])
def test_where_levels_are_thin_the_cpu_goes_on_with_the_same_lists(monkeypatch, name):
    from reliac.engines.gpu import levels

    for thin in (1, 5, 20, 60):
        monkeypatch.setattr(levels, "THIN_LINKS", thin)
        for criterion in ("ward", "average", "centroid"):
            assert same_links(DATA[name], criterion, metric="sqeuclidean")


def test_rows_are_ordered_by_cells_and_links_do_not_notice(all_on_device, monkeypatch):
    from reliac.engines.gpu import moments

    monkeypatch.setattr(moments, "ROWS_OF_CELL", 8)
    for name in ("blobs", "wide lattice"):
        for criterion in ("ward", "average", "centroid"):
            assert same_links(DATA[name], criterion, metric="sqeuclidean")


def test_sparse_rows_and_integers_are_taken():
    from scipy.sparse import csr_array

    X = np.random.default_rng(0).poisson(0.6, (120, 9))
    X[:, 0] += 1
    assert same_links(csr_array(X), "ward", metric="sqeuclidean")
    assert same_links(X, "average", metric="cosine")


def test_a_checkpoint_of_another_engine_is_taken_up(tmp_path):
    X, path = blobs(3, n=300), tmp_path / "run.npz"
    stopped = []

    def stop(progress):
        stopped.append(progress.level)
        if progress.level >= 2:
            raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted):
        reliac.cluster(X, "ward", engine="vectors", checkpoint=path, progress=stop)
    tree = reliac.cluster(X, "ward", engine="gpu", checkpoint=path)
    assert np.array_equal(tree.links, reliac.cluster(X, "ward", engine="vectors").links)


def test_it_can_be_stopped_and_developed(all_on_device):
    X = blobs(4, n=200)
    early = reliac.cluster(X, "ward", engine="gpu", max_level=1)
    assert np.array_equal(early.develop().links["distance"], reliac.cluster(X, "ward").links["distance"])

    def stop(progress):
        if progress.level >= 1:
            raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted) as error:
        reliac.cluster(X, "ward", engine="gpu", progress=stop)
    assert error.value.tree.n_levels >= 1


def count_tensors():
    """Count the tensors that are on the device; on a GPU, those on the host stand behind arrays of results."""
    import gc

    import torch

    from reliac.engines.gpu.device import the_device

    found = [thing for thing in gc.get_objects() if type(thing) is torch.Tensor]
    return sum(len(tensor.shape) > 0 and tensor.device.type == the_device().type for tensor in found)


@pytest.mark.parametrize("options", [{}, {"alpha": 0.5}])
def test_a_run_leaves_nothing_on_the_device_whoever_keeps_the_engine(all_on_device, options):
    import gc

    reliac.cluster(
        blobs(4, n=200), "ward", engine="gpu", **options
    )  # compilers keep tensors of their own from the first run on
    gc.collect()
    gc.disable()
    try:
        before = count_tensors()
        reliac.cluster(blobs(4, n=200), "ward", engine="gpu", **options)
        assert count_tensors() == before
    finally:
        gc.enable()


# --- rows that are on a device ---


@pytest.fixture
def tensors_on_device(monkeypatch):
    """Take all tensors for such as are in the memory of a device."""
    import torch

    from reliac.input import numbers

    monkeypatch.setattr(numbers, "lives_on_device", lambda data: isinstance(data, torch.Tensor))


def test_rows_on_a_device_are_clustered_without_a_copy_on_the_host(all_on_device, tensors_on_device, monkeypatch):
    import torch

    from reliac.input.device_rows import DeviceRows

    X = torch.from_numpy(DATA["float32"])
    expected = reliac.cluster(X.numpy(), "ward", engine="vectors")
    with monkeypatch.context() as patch:
        patch.setattr(DeviceRows, "host", property(lambda rows: pytest.fail("the rows were copied")))
        found = reliac.cluster(X, "ward", engine="gpu")
        near = reliac.neighbors(X, 5, engine="gpu")
    assert np.array_equal(found.links, expected.links)
    assert found.fingerprint == expected.fingerprint
    assert np.array_equal(near.indices, reliac.neighbors(X.numpy(), 5).indices)


def test_rows_on_a_device_serve_all_other_engines_and_tensors_all_types(all_on_device, tensors_on_device):
    import torch

    X = torch.tensor(DATA["wide lattice"])  # a copy: it is changed below
    for criterion, engine in (("complete", "auto"), ("single", "auto"), ("ward", "vectors"), ("median", "gpu")):
        expected = reliac.cluster(X.numpy(), criterion)
        for form in (X, X.to(torch.float16), X.to(torch.int32)):
            assert np.array_equal(reliac.cluster(form, criterion, engine=engine).links, expected.links)
    X[3, 1] = torch.nan
    with pytest.raises(ValueError, match=r"NaN .*row 3, column 1"):
        reliac.cluster(X, engine="gpu")


# --- what goes wrong ---


def test_a_device_without_memory_left_lets_the_vectors_engine_go_on(all_on_device, monkeypatch):
    import torch

    from reliac.engines.gpu.levels import DeviceLevels

    links, X = DeviceLevels.links, DATA["noise"]

    def full(self, touched):
        if self.level == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return links(self, touched)

    monkeypatch.setattr(DeviceLevels, "links", full)
    tree = reliac.cluster(X, "ward", engine="gpu")
    assert tree.engine == "vectors"
    assert "the device ran out of memory" in tree.reason
    assert np.array_equal(tree.links, reliac.cluster(X, "ward", engine="vectors").links)


def test_a_device_with_little_memory_searches_fewer_rows_at_a_time(all_on_device, monkeypatch):
    import torch

    from reliac.engines.gpu import failures, search

    pack, sizes, X = search.pack_columns, [], DATA["noise"]

    class Full:
        def __init__(self, columns, skipping):
            self.packed = pack(columns, skipping)

        def nearest(self, own, k):
            sizes.append(len(own))
            if len(own) > 70:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return self.packed.nearest(own, k)

    monkeypatch.setattr(failures, "SMALLEST_BATCH", 8)
    monkeypatch.setattr(search, "pack_columns", Full)
    assert same_links(X, "ward", metric="sqeuclidean")
    assert sizes[:4] == [260, 130, 65, 65]


def test_a_device_that_is_gone_leaves_the_levels_done(all_on_device, monkeypatch, tmp_path):
    from reliac.engines.gpu.levels import DeviceLevels

    links, X, path = DeviceLevels.links, DATA["noise"], tmp_path / "run.npz"

    def gone(self, touched):
        if self.level == 2:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return links(self, touched)

    monkeypatch.setattr(DeviceLevels, "links", gone)
    with pytest.raises(DeviceLost, match=r"(?s)CUDA error.*Allowed: .*Next: .*vectors") as error:
        reliac.cluster(X, "ward", engine="gpu", checkpoint=path)
    assert error.value.tree.n_levels == 2
    whole = reliac.cluster(X, "ward", engine="vectors", checkpoint=path)
    assert np.array_equal(whole.links, reliac.cluster(X, "ward", engine="vectors").links)


def test_without_a_device_the_message_names_the_vectors_engine(monkeypatch):
    from reliac.engines.gpu import engine

    monkeypatch.setattr(engine, "why_not", lambda: "torch sees no CUDA device")
    with pytest.raises(ValueError, match=r"gpu engine cannot do this: torch sees no CUDA device.*vectors"):
        reliac.cluster(lattice(0), "ward", engine="gpu")


def test_what_does_not_fit_on_the_device_is_refused_before_anything_is_sent(monkeypatch):
    from reliac.engines.gpu import device

    monkeypatch.setattr(device, "free_bytes", lambda device: 1000)
    with pytest.raises(ValueError, match=r"of memory on the device, .* are free there.*vectors"):
        reliac.cluster(lattice(0), "ward", engine="gpu")


def test_few_objects_are_left_to_the_cpu_and_no_device_is_asked_for_memory(tensors_on_device, monkeypatch):
    import torch

    from reliac.engines.gpu import device, engine

    def asked(*ignored):
        raise AssertionError("the device was asked")

    monkeypatch.setattr(engine, "WORTH_USING", ENOUGH)
    monkeypatch.setattr(device, "free_bytes", asked)
    monkeypatch.setattr(engine, "fresh_moments", asked)
    monkeypatch.setattr(engine, "mirror_of", asked)
    X = blobs(4, n=1200)
    for criterion, other in (("ward", "vectors"), ("centroid", "vectors"), ("single", "spanning")):
        expected = reliac.cluster(X, criterion, engine=other).links
        for rows in (X, torch.from_numpy(X)):
            assert np.array_equal(reliac.cluster(rows, criterion, engine="gpu").links, expected)


def test_a_device_is_asked_once_whether_it_is_there_and_again_after_it_failed(monkeypatch):
    from reliac.engines.gpu import device, failures

    class Cuda:
        device = staticmethod(lambda device: nullcontext())
        is_available = staticmethod(lambda: asked.append(1) or True)

    class Torch:
        cuda, float64, OutOfMemoryError = Cuda, None, MemoryError
        device = staticmethod(lambda name: SimpleNamespace(type=name))
        zeros = staticmethod(lambda *args, **kwargs: None)

    asked = []
    monkeypatch.setenv(device.VARIABLE, "cuda:7")
    for module in (device, failures):
        monkeypatch.setattr(module, "torch", lambda: Torch)
    assert device.why_not() is None
    assert device.why_not() is None
    assert len(asked) == 1
    with pytest.raises(DeviceLost), failures.OnDevice():
        raise RuntimeError("CUDA error: unspecified launch failure")
    assert device.why_not() is None
    assert len(asked) == 2

    def failed(*ignored):
        raise RuntimeError("CUDA error: unspecified launch failure")

    monkeypatch.setattr(Cuda, "mem_get_info", failed, raising=False)  # it fails where nobody of us is asked
    assert "cannot be used (CUDA error" in device.no_room(10**9)
    assert device.why_not() is None
    assert len(asked) == 3
    monkeypatch.setattr(Cuda, "device", failed)
    with pytest.raises(DeviceLost, match=r"The device failed \(CUDA error"), failures.OnDevice():
        raise AssertionError("it was entered")
    device.forget_devices()


def test_an_error_that_comes_when_the_device_is_left_is_not_lost(monkeypatch):
    from reliac.engines.gpu import failures

    class Leaves:
        def __enter__(self):
            pass

        def __exit__(self, *ignored):
            raise RuntimeError(words)

    monkeypatch.setattr(failures, "current", lambda device: Leaves())
    for words, kind in (("something else", RuntimeError), ("CUDA error: gone", DeviceLost)):
        with pytest.raises(kind, match=words), failures.OnDevice():
            pass


def test_auto_takes_it_only_where_a_gpu_is_worth_it(monkeypatch):
    from reliac.engines.gpu import device

    problem = problem_of_squares(np.random.default_rng(0).normal(size=(2000, 20)), "ward")
    asked = []
    monkeypatch.setattr(device, "why_not", lambda: asked.append(1))
    monkeypatch.setattr(device, "is_gpu", lambda device: True)
    assert choose(problem).engine.name != "gpu"
    assert not asked  # torch is not imported for so little
    monkeypatch.setattr(device, "WORTH_STARTING", 1e3)
    monkeypatch.setattr(device, "free_bytes", lambda device: 2**40)
    assert choose(problem).engine.name == "gpu"
    monkeypatch.setattr(device, "is_gpu", lambda device: False)
    assert choose(problem).engine.name != "gpu"


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_neighbours_are_those_of_the_cpu_bit_for_bit(metric):
    for name, X in DATA.items():
        if metric != "cosine" or name != "one dimension":
            for k in (1, 6, 40):
                found, expected = (reliac.neighbors(X, k, metric, engine=engine) for engine in ("gpu", "cpu"))
                assert np.array_equal(found.indices, expected.indices), (name, k)
                assert np.array_equal(found.distances, expected.distances), (name, k)


def test_neighbours_that_no_device_finds_are_refused():
    with pytest.raises(ValueError, match=r"metric='cityblock'.*Next: .*engine='cpu'"):
        reliac.neighbors(DATA["blobs"], 3, "cityblock", engine="gpu")
    with pytest.raises(ValueError, match="'tpu'"):
        reliac.neighbors(DATA["blobs"], 3, engine="tpu")


def test_bounds_hold_for_random_rows(all_on_device):
    """No column that a search leaves out is nearer than the bound that it gives."""
    import torch

    from reliac.engines.gpu.columns import Columns, make_frame
    from reliac.engines.gpu.moments import kind_of_moments, mirror_of
    from reliac.engines.gpu.plain import PlainSearch

    rng = np.random.default_rng(0)
    for seed in range(12):
        n, d = int(rng.integers(100, 400)), int(rng.integers(1, 40))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 6, (n, 1) if seed % 2 else (1, d)) + 10.0 ** (seed - 6)
        problem = problem_of_squares(X, "ward")
        weight = rng.integers(1, 50, n).astype(float)
        sums = np.zeros((n, -(-d // 4) * 4))
        sums[:, :d] = X * weight[:, None]
        host = kind_of_moments(problem)._replace(sums=sums, weight=weight, row=np.arange(n), spread=np.zeros(1))
        moments, slots = mirror_of(host, torch.device("cpu"), 1), torch.arange(n)
        frame = make_frame(moments, slots)
        found = PlainSearch(Columns(moments, slots, frame)).nearest(slots, 5)
        exact = moments.table(slots, slots.expand(n, n).contiguous())
        exact.fill_diagonal_(torch.inf)
        exact.scatter_(1, found.places.clamp(min=0), torch.inf)
        bound = found.bound.double() * moments.scale * frame.unit**2
        assert (exact.amin(1) >= bound).all()


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_the_kernels_give_the_same_links_where_triton_interprets_them():
    code = """
        import numpy as np, reliac
        from reliac.engines.gpu import engine, levels, search
        levels.THIN_LINKS, search.FEW_COLUMNS, search.FEW_PRODUCTS, engine.WORTH_USING = 0, 32, 0, 0
        X = np.random.default_rng(0).normal(size=(130, 5))
        found, expected = (reliac.cluster(X, engine=name, max_level=1).links for name in ("gpu", "vectors"))
        assert np.array_equal(found, expected)
        for criterion, metric in (("ward", "euclidean"), ("average", "cosine"), ("centroid", "sqeuclidean")):
            some = X[:40]
            found, expected = (
                reliac.cluster(some, criterion, metric=metric, engine=name).links for name in ("gpu", "vectors")
            )
            assert np.array_equal(found, expected), criterion
    """
    environment = {**os.environ, "TRITON_INTERPRET": "1", "RELIAC_DEVICE": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# --- lists and tiles ---


def test_the_smallest_numbers_of_long_rows_are_those_that_sorting_gives():
    import torch

    from reliac.engines.gpu.listing import GROUP, smallest

    rng = np.random.default_rng(3)
    for n in (1, 30, GROUP, 4 * 5 * GROUP, 4 * 5 * GROUP + 1, 40 * GROUP + 77):
        values = torch.from_numpy(rng.integers(0, 1000, (7, n)) / 7.0)
        values[0] = torch.inf
        count = min(5, n)
        best, places = smallest(values, count)
        assert torch.equal(best, values.sort(1).values[:, :count])
        assert torch.equal(values.gather(1, places), best)
        assert all(len(set(row.tolist())) == count for row in places)


def test_clusters_of_equal_rows_are_at_distance_0_whatever_rounding_makes_of_their_spread():
    import torch

    from reliac.engines.gpu.columns import Columns, make_frame
    from reliac.engines.gpu.moments import KIND_OF_ROWS, DeviceMoments

    rows = np.repeat(np.random.default_rng(2).normal(size=(2, 3)), [9, 1], axis=0)
    sums, everyone = torch.from_numpy(np.pad(rows, ((0, 0), (0, 1)))), torch.arange(10)
    first = torch.tensor([0] * 9 + [9])
    kind = KIND_OF_ROWS._replace(with_spread=True)
    some = DeviceMoments(sums, torch.ones(10).double(), first, torch.zeros(10).double(), kind)
    for k in range(1, 8):
        some.join(everyone[:1], everyone[k : k + 1])
    assert some.spread[0] > 0, "this is to be a problem with rounding"
    left = torch.tensor([0, 8, 9])
    assert Columns(some, left, make_frame(some, left)).extra[0] == 0
    some.join(everyone[:1], everyone[9:])
    assert Columns(some, left[:2], make_frame(some, left[:2])).extra[0] > 0


def test_tiles_are_looked_for_as_long_as_enough_of_them_were_left_out_in_all():
    from reliac.engines.gpu.columns import ENOUGH, Skipping

    skipping = Skipping()
    skipping.note(ENOUGH - 1, ENOUGH - 1)
    assert skipping.worth_it, "too little was looked at to tell"
    skipping.note(1, 1)
    assert not skipping.worth_it
    skipping = Skipping()
    skipping.note(ENOUGH, 4 * ENOUGH)
    skipping.note(ENOUGH, ENOUGH)  # noise, which needs everything, comes last
    assert skipping.worth_it


def test_new_clusters_that_are_near_to_everybody_are_entered_some_at_a_time(all_on_device, monkeypatch):
    from reliac.engines.gpu import search

    noise = np.random.default_rng(6).normal(size=(300, 64))
    reached, sizes = search.Search.reached, []

    def note(self, rows, radius):
        sizes.append(len(rows) * len(self.living))
        return reached(self, rows, radius)

    monkeypatch.setattr(search.Search, "reached", note)
    monkeypatch.setattr(search, "REACHED", 2000)
    for criterion in ("centroid", "median"):
        assert same_links(noise, criterion, metric="sqeuclidean")
    assert max(sizes) <= 2000


def test_a_device_without_memory_is_left_before_the_cpu_goes_on(all_on_device, monkeypatch):
    import gc

    import torch

    from reliac.engines.gpu.levels import DeviceLevels
    from reliac.engines.vectors.engine import VectorsEngine

    links, levels, alive = DeviceLevels.links, VectorsEngine.levels, []
    X = blobs(4, n=333)
    reliac.cluster(X, "ward", engine="gpu")  # compilers keep tensors of their own from the first run on

    def full(self, touched):
        if self.level == 2:
            raise torch.OutOfMemoryError("no memory")
        return links(self, touched)

    def count(self, level):
        if self.problem.n_objects == 333 and type(self) is VectorsEngine:
            alive.append(count_tensors())
        yield from levels(self, level)

    monkeypatch.setattr(DeviceLevels, "links", full)
    monkeypatch.setattr(VectorsEngine, "levels", count)
    gc.collect()
    before = count_tensors()
    tree = reliac.cluster(X, "ward", engine="gpu")
    assert alive == [before]
    assert tree.engine == "vectors"


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_lists_made_by_the_kernel_are_those_of_plain_torch():
    code = """
        import numpy as np, torch
        from reliac.engines.gpu import listing, moments as M
        rng = np.random.default_rng(1)
        for k in range(60):
            n, m, given = int(rng.integers(3, 120)), int(rng.integers(1, 5)), int(rng.choice([1, 5, 19, 20, 21, 40]))
            sums = torch.from_numpy(rng.integers(0, 4, (n, 4)).astype(float))
            weight = torch.from_numpy(rng.integers(1, 4, n).astype(float))
            by_size, with_spread = bool(k & 1), bool(k & 2)
            like = M.KIND_OF_ROWS._replace(by_size=by_size, with_spread=with_spread, scale=0.5)
            some = M.DeviceMoments(sums, weight, torch.arange(n), torch.from_numpy(rng.random(n)), like)
            some.in_order = bool(k & 4)
            rows, slots = torch.from_numpy(rng.choice(n, m)), torch.from_numpy(rng.integers(-1, n, (m, given)))
            radius = torch.from_numpy(rng.choice([0.0, 1.0, 5.0, 50.0, np.inf], m))
            some.kernels = True
            one = listing.make_lists(some, rows, slots.int() if k & 8 else slots, radius)
            some.kernels = False
            two = listing.make_lists(some, rows, slots, radius)
            assert torch.equal(one.distances, two.distances) and torch.equal(one.radius, two.radius)
            assert torch.equal(one.slots.sort(1).values, two.slots.sort(1).values)
    """
    environment = {**os.environ, "TRITON_INTERPRET": "1", "RELIAC_DEVICE": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_searches_in_batches_and_without_skipping_find_the_nearest_where_triton_interprets_them():
    code = """
        import numpy as np, torch
        from reliac.engines.gpu import columns as C, loading, moments as M, sift

        class Never(C.Skipping):
            worth_it = False

        loading.ROWS = 40
        loading.search_few(16, torch.device("cpu"))
        sift.ROWS = sift.FEW_ROWS = sift.BLOCK
        n, rng = 150, np.random.default_rng(0)
        everyone = torch.arange(n)
        for skipping, by_size in ((C.Skipping(), False), (Never(), True)):
            sums = torch.from_numpy(rng.normal(size=(n, 8)))
            weight = torch.from_numpy(rng.integers(1, 3, n).astype(float))
            kind = M.KIND_OF_ROWS._replace(by_size=by_size)
            some = M.DeviceMoments(sums, weight, everyone, sums.new_zeros(1), kind)
            frame = C.make_frame(some, everyone)
            found = sift.SiftSearch(C.Columns(some, everyone, frame), skipping).nearest(everyone, 6)
            some.kernels = False
            exact = some.table(everyone, everyone.expand(n, n).contiguous()).fill_diagonal_(torch.inf)
            bound = found.bound.double() * some.scale * frame.unit**2
            assert found.sure.all() and (exact.amin(1) < bound).all()
            exact.scatter_(1, found.places.clamp(min=0), torch.inf)
            assert (exact.amin(1) >= bound).all()
    """
    environment = {**os.environ, "TRITON_INTERPRET": "1", "RELIAC_DEVICE": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_kernels_that_take_long_to_compile_are_said_once_for_a_number_of_columns(monkeypatch, caplog):
    import time

    from reliac.engines.compiled import loading as compiling
    from reliac.engines.gpu import loading

    asked = []

    def slow(width, device):
        asked.append(width)
        time.sleep(0.2)

    monkeypatch.setattr(compiling, "SECONDS_BEFORE_SAYING", 0.05)
    monkeypatch.setattr(compiling, "_loaded", set())
    monkeypatch.setattr(compiling, "note_ready", lambda engine: None)
    monkeypatch.setattr(loading, "search_few", slow)
    monkeypatch.setattr(loading, "is_gpu", lambda device: True)
    monkeypatch.setattr(loading, "has_kernels", lambda device: True)
    for columns in (17, 30, 32, 200):
        loading.load_kernels(columns, the_cpu())
    assert asked == [32, 256]
    assert caplog.text.count("compiling the gpu engine") == 2
    loading.load_all(problem_of_squares(DATA["blobs"], "ward"))
    assert asked == [32, 256, 16, 64, 128]


def the_cpu():
    import torch

    return torch.device("cpu")


def test_rows_a_little_wider_than_a_power_of_two_are_counted_as_the_kernels_take_them():
    from reliac.engines.gpu.columns import bytes_of_rows, packed_width

    assert [packed_width(d) for d in (1, 16, 17, 65, 128, 129, 784)] == [16, 16, 32, 128, 128, 192, 832]
    assert bytes_of_rows(10, 65) == 10 * 12 * (65 + 128)
