"""SIGINT, SIGTERM and SIGHUP: an exception in the main thread, so that cleanup runs, and a forced exit soon after, as
threads in native code may run on."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType

from gpualign.cli.messages import complain
from gpualign.ending import undo_all

#: time for the main thread to clean up
_GRACE_SECONDS = 0.5
#: acquired by the thread that prints the last message
_last_words = threading.Lock()


class Terminated(BaseException):
    """SIGTERM or SIGHUP, raised so that temporary files are removed on the way out."""

    def __init__(self, number: int) -> None:
        self.number = number


def handle_signals() -> None:
    """Raise :class:`Terminated` and KeyboardInterrupt in the main thread."""
    global _last_words
    _last_words = threading.Lock()
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell ignores it in background jobs
        signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup leaves it
        signal.signal(signal.SIGHUP, _terminate)
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _raise_again


def end_soon_after_signals(prefix: str) -> None:
    """Force the exit half a second after a signal, as native code does not handle signals and Python waits for its
    threads. ``prefix``: of the last message."""
    with contextlib.suppress(OSError, RuntimeError):  # without it the command ends when its work is done
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        threading.Thread(target=_watch, args=(reader, prefix), daemon=True, name="gpualign-signals").start()
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)


def say_why(prefix: str, number: int) -> None:
    """Print the command's last message, once."""
    if _last_words.acquire(blocking=False):
        complain(prefix, "interrupted" if number == signal.SIGINT else "terminated")


def _watch(reader: int, prefix: str) -> None:
    number = 0
    while number not in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        number = os.read(reader, 1)[0]
    time.sleep(_GRACE_SECONDS)
    undo_all()
    say_why(prefix, number)
    os._exit(128 + number)


def _terminate(number: int, frame: FrameType | None) -> None:
    _stop_work()
    raise Terminated(number)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _stop_work()
    raise KeyboardInterrupt


def _stop_work() -> None:
    """Stop threads in native code, for which the exit would wait."""
    native = sys.modules.get("gpualign._native")
    if native is not None and (module := vars(native).get("_module")) is not None:  # it may be half imported
        module.stop_all_work()


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Raise a signal's exception again a moment later, if it was raised in a finalizer, where Python drops it."""
    error = unraisable.exc_value
    if not isinstance(error, (Terminated, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
        return

    def raise_it(number: int, frame: FrameType | None) -> None:
        raise error

    signal.signal(signal.SIGALRM, raise_it)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
