"""SIGINT, SIGTERM and SIGHUP: an exception where the main thread runs Python, so that all is tidied up on the way out;
and the end of the process soon after, whatever its threads compute."""

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

#: for the main thread to tidy up by itself
_GRACE_SECONDS = 0.5
#: taken by the thread that says why the command ends
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
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in what a shell runs in the background
        signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup leaves it
        signal.signal(signal.SIGHUP, _terminate)
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _raise_again


def end_soon_after_signals(prefix: str) -> None:
    """End the process half a second after a signal, where the main thread has not: native code sees none, and Python
    waits for threads that compute. ``prefix`` is that of the last message."""
    with contextlib.suppress(OSError, RuntimeError):  # without it a signal ends the command when its work is done
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        threading.Thread(target=_watch, args=(reader, prefix), daemon=True, name="gpualign-signals").start()
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)


def say_why(prefix: str, number: int) -> None:
    """The command's last message, once."""
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
    """Threads in native code see no signal, and the command's end waits for them."""
    native = sys.modules.get("gpualign._native")
    if native is not None and (module := vars(native).get("_module")) is not None:  # it may be half imported
        module.stop_all_work()


def _raise_again(unraisable: sys.UnraisableHookArgs) -> None:
    """A signal may come while a finalizer runs, where Python drops what its handler raises: raise it once more, in a
    moment."""
    error = unraisable.exc_value
    if not isinstance(error, (Terminated, KeyboardInterrupt)):
        sys.__unraisablehook__(unraisable)
        return

    def raise_it(number: int, frame: FrameType | None) -> None:
        raise error

    signal.signal(signal.SIGALRM, raise_it)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
