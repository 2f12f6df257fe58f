"""glibc is told to let threads share their heaps, and to give back what is free."""

import subprocess
import sys
from pathlib import Path

HEAPS = """
import ctypes, sys, threading
from ragstone.ingest.free_memory import limit_arenas
if sys.argv[1] == "few":
    limit_arenas()
libc, ready, end = ctypes.CDLL(None), threading.Barrier(13), threading.Event()
libc.malloc.restype = ctypes.c_void_p
def hold():
    assert libc.malloc(1000)
    ready.wait()
    end.wait()
threads = [threading.Thread(target=hold) for _ in range(12)]
for one in threads:
    one.start()
ready.wait()
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
end.set()
"""

GIVEN_BACK = """
import ctypes
from pathlib import Path
from ragstone.ingest.free_memory import give_back
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def own():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
held = [libc.malloc(50_000) for _ in range(2_000)]
for one in held:
    ctypes.memset(one, 1, 50_000)
for one in held[:-1]:
    libc.free(one)
before = own()
give_back()
print(before - own())
"""


def heaps(tmp_path: Path, how: str) -> int:
    told = tmp_path / how
    subprocess.run([sys.executable, "-c", HEAPS, how, str(told)], check=True)
    return told.read_text().count("<heap nr=")


def test_given_many_threads_then_they_share_two_heaps(tmp_path: Path) -> None:
    assert heaps(tmp_path, "few") <= 2
    assert heaps(tmp_path, "many") > 2


def test_given_freed_memory_below_what_is_held_then_the_system_has_it_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 50_000  # Kilobytes, of 100,000.
