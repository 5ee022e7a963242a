"""Run one command and print what it took as JSON: python timed_command.py OUTPUT COMMAND [ARGUMENT ...]

A process of its own, small and without imports of weight: Linux counts the memory of the process that starts a command
into the command's peak, so a benchmark that holds reads and genomes must not start it itself.
"""

import json
import os
import sys
import threading
import time

POLL_SECONDS = 0.1


def _children(process: int) -> list[int]:
    children = []
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/children") as file:
            children += map(int, file.read().split())
    return children


def _resident_kib(process: int) -> int:
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def _tree_kib(root: int) -> int:
    """Resident memory of a process and its descendants, 0 if it has none: the kernel's own count is exact then. Pages
    that they share count once per process."""
    total, waiting, members = 0, [root], 0
    while waiting:
        process = waiting.pop()
        try:
            waiting += _children(process)
            if members or waiting:
                total += _resident_kib(process)
        except (OSError, IndexError, ValueError):
            continue  # gone meanwhile
        members += 1
    return total


class _TreePeak(threading.Thread):
    """Watches for commands that are several processes, such as scripts around a program."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.kib = 0
        self._root = root
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(POLL_SECONDS):
            self.kib = max(self.kib, _tree_kib(self._root))

    def finish(self) -> int:
        self._done.set()
        self.join()
        return self.kib


def main(output: str, command: list[str]) -> None:
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    actions = [(os.POSIX_SPAWN_DUP2, target, 1)]
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    tree = _TreePeak(child)
    tree.start()
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    print(
        json.dumps(
            {
                "wall_s": wall,
                "user_s": usage.ru_utime,
                "system_s": usage.ru_stime,
                "peak_mib": max(usage.ru_maxrss, tree.finish()) / 1024,
                "status": os.waitstatus_to_exitcode(status),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
