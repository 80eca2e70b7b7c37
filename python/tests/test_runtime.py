"""Threads, forks, signals, callbacks, memory."""

import ctypes
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import gpureduce as gr

LARGE = 1 << 24


def test_threads():
    """Several threads, and more than there are cores, which come and go."""
    arrays = [np.arange(i, i + 1000.0) for i in range(20)]
    wanted = [sum(x.tolist()) for x in arrays]
    wrong = []

    def work():
        for _ in range(50):
            for x, total in zip(arrays, wanted):
                if gr.sum(x) != total or gr.reduce(x, "max").max != x[-1]:
                    wrong.append(total)

    for _ in range(3):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_other_threads_run_meanwhile():
    x = np.ones(LARGE, "f8")
    turns, done = [0], threading.Event()

    def work():
        while not done.is_set():
            turns[0] += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        before = turns[0]
        for _ in range(50):
            gr.reduce(x, "sum,std")
            if turns[0] > before:
                break
        assert turns[0] > before
    finally:
        done.set()
        thread.join()


def test_fork():
    x = np.arange(1e6)
    acc, other = gr.Accumulator("f8", ["sum"]), gr.Accumulator("f8")
    acc.add(x)
    assert gr.sum(x) == 499999500000.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's, of forks with threads
        child = os.fork()
    if child == 0:
        try:
            acc.add(x)
            good = gr.sum(x) == 499999500000.0 and acc.result("sum") == 999999000000.0 and other.result("sum") == 0
            del acc
            gc.collect()
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert acc.result("sum") == 499999500000.0


def test_fork_beside_threads(tmp_path):
    """A child forgets what other threads had, and waits for none of the library's threads, which are not there."""
    code = ("import os, sys, threading, gpureduce as gr, numpy as np; x = np.ones(1 << 22); own = threading.local()\n"
            "def work():\n"
            "    own.acc = gr.Accumulator('f8'); own.acc.add(x); own.file = gr.open(sys.argv[1]); own.file[0].std()\n"
            "    ready.release(); done.wait()\n"
            "ready, done = threading.Semaphore(0), threading.Event()\n"
            "threads = [threading.Thread(target=work) for _ in range(3)]\n"
            "for thread in threads: thread.start(); ready.acquire()\n"
            "child = os.fork()\n"
            "if child == 0: os._exit(gr.sum(x) != x.size)\n"
            "status = os.waitpid(child, 0)[1]; done.set(); sys.exit(status)")
    np.save(tmp_path / "x.npy", np.ones(1 << 22))
    subprocess.run([sys.executable, "-W", "ignore", "-c", code, tmp_path / "x.npy"], check=True, timeout=60)


def test_processes():
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(gr.sum, [np.arange(5), np.arange(6)]) == [10, 15]


SLOW = """
import signal, sys, threading, time
import numpy as np
import gpureduce as gr

class Late(Exception):
    pass

def handler(*_):
    raise Late

x = np.random.default_rng(1).standard_normal(1 << 25)
if sys.argv[1] == "alarm":
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    wanted = Late
else:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not where it is ignored
    threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT)).start()
    wanted = KeyboardInterrupt
begin = time.monotonic()
try:
    while time.monotonic() < begin + 60:
        gr.median(x) if sys.argv[2] == "median" else gr.reduce(x, "sum,std", progress=lambda *_: None)
except wanted:
    pass
else:
    sys.exit("it was not interrupted")
if gr.sum(np.arange(5)) != 10:
    sys.exit("the library is of no more use")
print("interrupted")
"""


@pytest.mark.parametrize("kind", ["interrupt", "alarm"])
@pytest.mark.parametrize("op", ["median", "reduce"])
def test_signals(kind, op):
    run = subprocess.run([sys.executable, "-c", SLOW, kind, op], capture_output=True, text=True,
                         check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "interrupted\n", "")


def test_progress():
    x = np.random.default_rng(1).standard_normal(LARGE)
    calls = []

    def progress(done, total):
        calls.append((done, total))
        assert gr.sum(np.arange(5)) == 10  # from within a call

    for _ in range(50):
        gr.reduce(x, "std,median", progress=progress)
        if calls:
            break
    assert calls and all(0 <= done <= total for done, total in calls)
    with pytest.raises(gr.CancelledError):
        for _ in range(50):
            gr.reduce(x, "std,median", progress=lambda *_: True)
    with pytest.raises(ZeroDivisionError):
        for _ in range(50):
            gr.reduce(x, "std,median", progress=lambda *_: 1 / 0)
    assert gr.sum(np.arange(5)) == 10


def test_progress_along_an_axis():
    """Calls that would take days are cancelled, whatever the results and the layout."""
    code = ("import sys, gpureduce as gr, numpy as np; n = 1 << 20; x = np.broadcast_to(np.arange(n * 1.0), (n, n))\n"
            "for x in (x, x.T):\n"
            "    for axis in (0, 1):\n"
            "        try: gr.reduce(x, sys.argv[1], axis=axis, progress=lambda *_: True)\n"
            "        except gr.CancelledError: continue\n"
            "        sys.exit('not cancelled')")
    for op in ("sum", "std,argmax", "median"):
        subprocess.run([sys.executable, "-c", code, op], check=True, timeout=100)


def test_progress_of_a_file(tmp_path):
    """It cannot use the file whose call it interrupts; another thread that does waits."""
    np.save(tmp_path / "x.npy", np.random.default_rng(1).standard_normal(LARGE))
    for use in (lambda: f[0].max(), lambda: a.median(axis=0), lambda: f.summary(), lambda: f.close()):
        with gr.open(tmp_path / "x.npy", progress=lambda *_: use()) as f:
            a = f[0]
            for call in (lambda: a.reduce("std,median"), lambda: f.summary("median")):
                with pytest.raises(RuntimeError, match="progress function"):
                    for _ in range(50):
                        call()
    threads = []

    def progress(*_):
        if not threads:
            threads.append(threading.Thread(target=lambda: maxima.append(a.max())))
            threads[0].start()

    maxima = []
    with gr.open(tmp_path / "x.npy", progress=progress) as f:
        a = f[0]
        while not threads:
            a.median()
        threads[0].join()
        assert maxima == [a.max()]


def test_a_handler_and_accumulators():
    """A handler of a signal can use none of the thread whose call it interrupts, but forget them, and make others."""
    x, found = np.broadcast_to(1.0, 1 << 28), []
    acc, forgotten = gr.Accumulator("f8"), [gr.Accumulator("f8") for _ in range(50)]

    def handler(*_):
        forgotten.pop()
        own = gr.Accumulator("f8")
        own.add([1.0, 2.0])
        try:
            acc.result("sum")
        except RuntimeError as error:
            found.append((own.result("sum"), str(error)))

    acc.add(x[:0])  # which imports numpy.ma
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for n in range(1, 51):
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            acc.add(x)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if found:
                break
    finally:
        signal.signal(signal.SIGALRM, before)
    assert found[0][0] == 3.0 and "signal handler" in found[0][1] and acc.result("sum") == n * x.size


def test_daemon_threads():
    """Python ends while daemon threads are in calls."""
    code = ("import threading, time; import gpureduce as gr, numpy as np; x = np.ones(1 << 24)\n"
            "def work():\n"
            "    while True: gr.median(x)\n"
            "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
            "time.sleep(0.2)")
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True)


def test_daemon_threads_with_functions(tmp_path):
    """Calls of daemon threads that call functions of Python end before it does."""
    np.savez(tmp_path / "x.npz", x=np.ones(1 << 22), y=np.zeros(1 << 22))
    code = ("import atexit, sys, threading, time\n"
            "@atexit.register\n"
            "def last():\n"
            "    before = len(told); time.sleep(0.2); print(0 < before == len(told), flush=True)\n"
            "import gpureduce as gr, numpy as np; x = np.ones(1 << 22); told = []\n"
            "def tell(done, _): told.append(done)\n"
            "def work(i):\n"
            "    while True:\n"
            "        if i == 0: gr.reduce(x, 'sum,std,median', progress=tell)\n"
            "        elif i == 1: gr.reduce(np.broadcast_to(1.5, 1 << 40), 'std', progress=tell)\n"
            "        elif i == 2: gr.open(sys.argv[1]).summary()\n"
            "        else: gr.diff(sys.argv[1], sys.argv[1], all=True)\n"
            "for i in range(4): threading.Thread(target=work, args=(i,), daemon=True).start()\n"
            "time.sleep(0.3)")
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", code, tmp_path / "x.npz"], check=True, capture_output=True, text=True)
        assert found.stdout == "True\n" and not found.stderr


def test_functions_that_wait_for_daemon_threads(tmp_path):
    """A function that Python calls at its end may wait for a daemon thread's work, or for a file that it reads."""
    np.savez(tmp_path / "x.npz", x=np.ones(1 << 22), y=np.zeros(1 << 22))
    code = ("import atexit, queue, sys, threading, time; tasks, files = queue.Queue(), []\n"
            "@atexit.register\n"
            "def last(): tasks.join(); files[0].close(); print('closed', flush=True)\n"
            "import gpureduce as gr, numpy as np; x = np.ones(1 << 22)\n"
            "def work():\n"
            "    while tasks.get():\n"
            "        print(gr.reduce(x, 'sum,std,median', progress=lambda *_: None).sum, flush=True); tasks.task_done()\n"
            "def look():\n"
            "    while True: files[0].summary()\n"
            "for i in range(3): tasks.put(1)\n"
            "files.append(gr.open(sys.argv[1]))\n"
            "for target in work, look: threading.Thread(target=target, daemon=True).start()\n"
            "time.sleep(0.02)")
    found = subprocess.run([sys.executable, "-c", code, tmp_path / "x.npz"], capture_output=True, text=True, timeout=60)
    assert found.stdout == 3 * "4194304.0\n" + "closed\n" and not found.stderr


def test_threads_of_the_end():
    """A function that Python calls at its end can have threads that call functions, too."""
    code = ("import atexit, threading\n"
            "def last():\n"
            "    with_progress = lambda: print(gr.reduce([1, 2], 'sum', progress=lambda *_: None).sum, gr.diff([1], [2]).different)\n"
            "    thread = threading.Thread(target=with_progress); thread.start(); thread.join()\n"
            "atexit.register(last)\n"
            "import gpureduce as gr")
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stdout == "3 1\n" or "can't create new thread" in found.stderr  # since Python 3.12


@pytest.fixture
def configured():
    yield
    gr.configure(threads=0, memory=0, device="auto")


def test_an_interrupt_anywhere(tmp_path):
    """Files and accumulators can be used after a call that was interrupted, wherever Python looks for signals: where a
    function begins, and after one of C."""
    np.save(tmp_path / "x.npy", np.arange(5.0))
    file = gr.open(tmp_path / "x.npy")
    acc = gr.Accumulator("f8")
    acc.add([1.0])

    def interrupted(call, places):
        def profile(frame, event, _arg):
            nonlocal places
            if event in ("call", "c_return") and \
                    os.path.dirname(frame.f_code.co_filename) == os.path.dirname(gr.__file__):
                places -= 1
                if places < 0:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        sys.setprofile(profile)
        try:
            call()
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
            sys.unraisablehook = hook
        return places < 0

    for call in (lambda: file[0].sum(), lambda: file[0].exact_sum(), lambda: acc.copy().result("sum"),
                 lambda: gr.open(tmp_path / "x.npy").close()):
        places = 0
        while interrupted(call, places):
            assert file[0].sum() == 10.0 and acc.result("sum") == 1.0
            places += 1
        assert places > 10


def test_callbacks_of_other_threads(monkeypatch):
    """An exception in one, of any library, is not one of the main thread's call."""
    def fails(_a, _b):
        raise ValueError("of another thread")

    numbers, begin, done = (ctypes.c_int * 4)(3, 1, 2, 0), threading.Event(), threading.Event()
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(fails)
    found = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: found.append(str(unraisable.exc_value)))

    def work():
        begin.wait(60)
        ctypes.CDLL(None).qsort(numbers, ctypes.c_size_t(4), ctypes.c_size_t(4), compare)
        done.set()

    def progress(*_):
        begin.set()
        done.wait(60)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):
        assert gr.reduce(np.ones(LARGE), "sum,median", progress=progress).sum == LARGE
        if done.is_set():
            break
    thread.join()
    assert set(found) == {"of another thread"}


def test_an_interrupt_before_a_call(tmp_path, monkeypatch):
    """The next call of the main thread can be interrupted, too, though another thread has used the file."""
    np.save(tmp_path / "x.npy", np.arange(5.0))
    file = gr.open(tmp_path / "x.npy")
    thread = threading.Thread(target=file[0].sum)
    thread.start()
    thread.join()
    functions = []

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(gr._library, "context_set_progress", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file[0].sum()
    monkeypatch.setattr(gr._library, "context_set_progress", lambda _context, called, _user: functions.append(called))
    assert file[0].sum() == 10.0 and functions == [gr._library._on_progress]


@pytest.mark.usefixtures("configured")
def test_configure():
    x = np.random.default_rng(1).standard_normal(1 << 20)
    wanted = gr.sum(x), gr.median(x), gr.sum(x[:9])
    acc = gr.Accumulator("f8")
    gr.configure(threads=1, device="cpu")
    assert (gr.sum(x), gr.median(x), gr.sum(x[:9])) == wanted
    gr.configure(memory=1000)
    with pytest.raises(MemoryError, match="1000 bytes"):
        gr.median(x)
    for y in (x, x.astype("i8")):
        for call in (lambda: gr.sum(y.reshape(4, -1), axis=0), lambda: gr.reduce(y.reshape(4, -1), "sum,max", axis=1)):
            with pytest.raises(gr.UnsupportedError, match="cannot be limited"):
                call()
    gr.configure(memory=0)
    assert gr.median(x) == wanted[1] and gr.sum(x.reshape(4, -1), axis=(0, 1)) == wanted[0]
    acc.add(x)
    assert acc.result("sum") == wanted[0]
    gr.configure(device="gpu:500")  # neither a small array nor a large one may then be the CPU's
    for part in (x, x[:9]):
        with pytest.raises(gr.DeviceError):
            gr.sum(part)
    gr.configure(device="auto")
    assert gr.sum(x[:9]) == wanted[2]
    for wrong in ({"threads": -1}, {"threads": 5000}, {"memory": 1.5}, {"device": "tpu"}, {"device": "cpu:1"},
                  {"device": "gpu:x"}):
        with pytest.raises(ValueError):
            gr.configure(**wrong)


def test_memory_is_given_back():
    """Many calls of all kinds, also those that fail, in the memory of a few."""
    def calls(n):
        for i in range(n):
            gr.sum(np.arange(10.0))
            gr.reduce(np.arange(10), ["sum", f"q0.{i % 997 + 1}"])
            gr.histogram(np.arange(10), 1000)
            gr.sum(np.ones((3, 4)), axis=0)
            try:
                gr.sum([float("nan")], nan="error")
            except gr.NaNError:
                pass
            gr.total([[1, 2], [3]])
            gr.diff([1, 2], [1, 3])
            acc = gr.Accumulator("f8", "sum,std")
            acc.add(np.arange(10.0))
            pickle.loads(pickle.dumps(acc)).merge(acc)
            acc.result("mean")

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    calls(300)
    before = resident()
    calls(1500)
    assert resident() - before < 8 << 20


def test_without_numpy():
    """Numbers of arrays that are not NumPy's need none of it."""
    code = ("import sys; sys.modules['numpy'] = None; import gpureduce as gr; "
            "print(gr.sum(b'abc'), gr.reduce(memoryview(b'abc'), 'max,std').max)")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "294 99\n"


def test_the_import_of_no_package():
    code = "import gpureduce, sys; print({'numpy', 'torch', 'pandas', 'dask'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
