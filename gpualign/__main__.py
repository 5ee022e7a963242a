"""Where a process of the command line begins: what takes long is begun before anything else is imported."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading

from gpualign.run.gpu import early

#: words that compute nothing
_QUICK = {"-h", "--help", "--help-all", "-V", "--version", "help", "version", "completion"}


def _import_ahead(arguments: list[str]) -> threading.Thread | None:
    """Import NumPy in a thread, while the main one imports what does not need it: much of an import is waiting for
    files."""
    if len(arguments) < 2 or not _QUICK.isdisjoint(arguments) or "_GPUALIGN_COMPLETE" in os.environ:
        return None
    thread = threading.Thread(target=importlib.import_module, args=("numpy",), daemon=True, name="gpualign-import")
    thread.start()
    return thread


def main() -> None:
    """Run the command line and exit."""
    arguments = sys.argv[1:]
    # The driver reads the environment in a thread, and the C library may crash if it grows meanwhile. So it is written
    # before: what NumPy would write, and that its linear algebra, which is not used, starts no threads.
    for name in ("OPENBLAS_NUM_THREADS", "OPENBLAS_MAIN_FREE", "GOTOBLAS_MAIN_FREE"):
        os.environ.setdefault(name, "1")
    early.begin(arguments)
    importing = _import_ahead(arguments)
    run = importlib.import_module("gpualign.cli").main  # not before: click takes as long as a third of NumPy
    try:
        run()
    finally:
        if importing is not None:
            importing.join()  # Python may crash if it ends while a thread imports native code
        gc.freeze()  # the interpreter looks for cycles in all that is left, which goes with the process anyway


if __name__ == "__main__":
    main()
