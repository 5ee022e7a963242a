"""Ctrl-C at any moment: whoever waits for other threads ends, and so does the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Raises KeyboardInterrupt in the main thread where its 1st, 2nd, ... Python function begins or C function returns, in
# Python's own modules too: there the handler of a signal may run. Not within Thread.start, which takes microseconds and
# does not bear it. The last round is not interrupted.
PROGRAM = """
import gzip, sys, threading
from contextlib import closing
from functools import partial
import numpy as np
from gpualign import _native
from gpualign.text.bgzf import bgzf_writer
from gpualign.text.ordered_writer import part_writer
from gpualign.records.record_sorter import RecordBatch, RecordSorter
from gpualign.sequences.batch import join_bytes
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.prefetch import Prefetch
from gpualign.streaming.worker_pool import WorkerPool

def work(number):
    return 2 * number

def use_loop():
    with closing(run_ordered(iter(range(4)), work, 2)) as results:
        return list(results)

def use_prefetch():
    with closing(Prefetch(iter(range(0, 8, 2)))) as results:
        return list(results)

def use_writer():
    parts = []
    with WorkerPool(2, "makers") as pool, part_writer(parts.append, 2, True) as writer:
        for number in range(4):
            writer.write(pool.submit(partial(work, number)))
    return parts

def use_bgzf():
    parts = []
    with bgzf_writer(parts.append, 2, True) as writer:
        for number in range(4):
            writer.write_blocks(memoryview(gzip.compress(b"%d " % work(number))))
    return list(map(int, gzip.decompress(b"".join(parts)).split()))

LINES = [b"r\\t0\\tc\\t%d\\t9\\t1M\\t*\\t0\\t0\\tA\\tI\\n" % at for at in (7, 3, 5, 1)]
RECORDS = [_native.bam_records(np.frombuffer(line, np.uint8), *join_bytes([b"c"]))[0] for line in LINES]

def use_sorter():  # whose memory holds no record
    with RecordSorter("/tmp", 1, 2) as sorter:
        for records in RECORDS:
            sorter.add(RecordBatch.of(records, "coordinate"))
        found = b"".join(sorter.merged(lambda records, before: records.tobytes()))
    return np.frombuffer(found, np.int32).reshape(4, -1)[:, 2].tolist()

def starts_thread(frame):
    while frame is not None and frame.f_code is not threading.Thread.start.__code__:
        frame = frame.f_back
    return frame is not None

def interrupted_at(moment):
    seen = 0
    def profile(frame, event, argument):
        nonlocal seen
        seen += event in ("call", "c_return") and not starts_thread(frame)
        if seen == moment:
            sys.setprofile(None)
            raise KeyboardInterrupt
    sys.setprofile(profile)
    try:
        results = {use}()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    assert results == [0, 2, 4, 6]
    return seen >= moment  # in a finalizer, where Python drops it

moment = 1
while interrupted_at(moment):
    moment += {step}
print(moment)
"""


@pytest.mark.parametrize(
    ("use", "step"), [("use_loop", 1), ("use_prefetch", 1), ("use_writer", 1), ("use_bgzf", 2), ("use_sorter", 13)]
)
def test_no_interrupt_blocks_a_thread(use: str, step: int) -> None:
    words = [sys.executable, "-c", PROGRAM.format(use=use, step=step)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 20  # of 50 and more moments
