"""Files: open, summaries, differences; the program."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import gpureduce as gr

# A file with an array that cannot be read warns of it.
skipped = pytest.mark.filterwarnings("ignore:.*skipped array t")


@pytest.fixture
def arrays(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, w=np.arange(12, dtype="f4").reshape(3, 4), n=np.array([2**63 - 1, 5]), t=np.array(["a"]))
    return path


def test_npy(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(10, dtype=">i2").reshape(2, 5))
    for name in (path, str(path), os.fsencode(path)):
        with gr.open(name) as f:
            assert (f.format, len(f), f[0].name, f[0].dtype, f[0].shape, f[0].size) == (
                "npy", 1, "", "int16", (2, 5), 10)
            a = f[0]
            assert (a.sum(), a.min(), a.max(), a.mean(), a.median()) == (45, 0, 9, 4.5, 4.5)
            assert a.std() == gr.std(np.arange(10)) and a.var(ddof=1) == gr.var(np.arange(10), ddof=1)
            assert a.quantile(0.1) == 0.9 and a.quantile([0, 1]) == [0, 9] and a.exact_sum() == 45
            assert a.sum(missing=9) == 36
            assert a.reduce("summary").count == 10
    with pytest.raises(ValueError, match="closed"):
        a.sum()
    f.close()


@skipped
def test_containers(arrays):
    f = gr.open(arrays)
    assert f.keys() == ["w", "n", "t"] and [a.name for a in f] == f.keys() and "w" in f and "q" not in f
    assert f["w"].sum() == 66.0 and f["n"].sum() == 2**63 + 4 and f["w"].shape == (3, 4)
    assert f["t"].why_unreadable and f["w"].why_unreadable is None
    with pytest.raises(gr.Error):
        f["t"].sum()
    with pytest.raises(KeyError, match="no array"):
        f["q"]
    with pytest.raises(IndexError):
        f[3]
    assert "3 arrays" in repr(f) and "'w'" in repr(f["w"])


def test_arrays_that_are_skipped(arrays):
    with pytest.warns(gr.GpureduceWarning, match="skipped array t"):
        gr.open(arrays)


@skipped
def test_summary(arrays):
    summary = gr.open(arrays).summary()
    text, page = str(summary), summary._repr_html_()
    assert len(summary) == 3 and summary[0].results.mean == 5.5 and summary[2].results is None
    assert text.splitlines()[0].split()[:4] == ["array", "type", "shape", "count"]
    assert "cannot be read" in text and "3x4" in text and page.count("<tr>") == 4
    np.savez(arrays.parent / "evil.npz", **{"<b>": np.arange(3)})
    assert "<b>" not in gr.open(arrays.parent / "evil.npz").summary()._repr_html_()
    assert len(gr.open(arrays)["w"].summary()) == 1


def test_raw(tmp_path):
    path = tmp_path / "x"
    np.arange(5, dtype=">f8").tofile(path)
    assert gr.open(path, dtype=">f8")[0].sum() == 10.0
    assert gr.open(path, dtype=">f8", skip=16)[0].shape == (3,)
    assert gr.open(path, dtype=np.dtype(">f8"))[0].max() == 4.0
    with pytest.raises(TypeError):
        gr.open(path, dtype="f99")


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        gr.open(tmp_path / "nowhere")
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100.0))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(gr.Error, match="ends at byte 500") as caught:
        gr.open(path)[0].sum()
    assert isinstance(caught.value, (ValueError, OSError))


@skipped
def test_threads_share_a_file(arrays):
    from concurrent.futures import ThreadPoolExecutor

    f = gr.open(arrays)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: f["w"].sum(), range(100))) == {66.0}


@skipped
def test_many_files_are_closed(arrays):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        gr.open(arrays)["w"].sum()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_diff(tmp_path):
    a, b = np.arange(10.0), np.arange(10.0)
    b[3] += 1e-9
    assert gr.diff(a, a).different == 0 and gr.diff(a, a).rows == []
    found = gr.diff(a, b)
    assert found.different == 1 and len(found.rows) == 1
    assert gr.diff(a, b, tolerance="abs:1e-6").different == 0
    assert len(gr.diff(a, a, all=True).rows) == 1
    np.savez(tmp_path / "a.npz", x=a, y=a)
    np.savez(tmp_path / "b.npz", x=a, y=b)
    found = gr.diff(tmp_path / "a.npz", tmp_path / "b.npz", all=True)
    assert found.different == 1 and len(found.rows) == 2
    with pytest.raises(FileNotFoundError):
        gr.diff(tmp_path / "nowhere", a)
    with pytest.raises(ValueError):
        gr.diff(a, b, tolerance="near")
    json.dumps(found.rows)


def test_the_program():
    run = subprocess.run([sys.executable, "-m", "gpureduce", "--version"], capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0 and gr.library_version() in run.stdout
