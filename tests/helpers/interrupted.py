"""Ctrl-C sent to a Python program that calls gpualign."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

PROGRAM = """
{first}
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def check_interrupt(first: str, call: str, lines: int = 1, wait_s: float = 0, timeout_s: float = 120) -> None:
    """Ctrl-C, once the program has printed so many lines and time has passed, ends the call with KeyboardInterrupt."""
    words = [sys.executable, "-c", PROGRAM.format(first=first, call=call)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for _ in range(lines):
                assert process.stdout.readline().strip()
            time.sleep(wait_s)
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=timeout_s)
        finally:
            process.kill()
    assert rest.endswith("interrupted\n")
    assert process.returncode == 0
