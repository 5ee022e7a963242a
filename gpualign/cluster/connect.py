"""From ``--cluster`` to a connected Dask client."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dask
import distributed

from gpualign.errors import GpualignError, InputError, UsageError
from gpualign.params import RunOptions

#: how long a scheduler, its file and the first worker may take to appear, seconds
PATIENCE_S = 30.0
#: an item of a large batch is normal here; Dask would warn of each
_LARGE_TASK = "1 GiB"
#: for clusters of our own: Dask samples every worker's stacks 100 times a second and looks 50 times a second whether
#: its loops turn, which costs a tenth of a core while nothing is done
CALM = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
}
#: seconds to find out whether a worker can be reached
_REACH_S = 1.0


@dataclass(frozen=True)
class Connection:
    """A client, and the address of its scheduler and of its dashboard (None where it has none)."""

    client: Any
    address: str
    dashboard: str | None


@contextlib.contextmanager
def connected(options: RunOptions) -> Iterator[Connection]:
    """Connect to the scheduler that ``options.cluster`` names, or start one here for "local:N".

    Raises:
        GpualignError: no scheduler answers, or it has no worker.
        UsageError: it wants a certificate, and there is none.
    """
    assert options.cluster is not None
    for name in ("distributed", "distributed.client", "distributed.nanny", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said once, in one sentence
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_TASK}))
        target: Any = options.cluster
        if target.startswith("local:"):
            stack.enter_context(dask.config.set(CALM))
            target = _start_local(options)
            stack.callback(_close, target, 5)
        client = _connect(target)
        stack.callback(_close, client, 2)
        _wait_for_worker(client, options.cluster)
        yield Connection(client, client.scheduler.address, _dashboard(client))


def _start_local(options: RunOptions) -> Any:
    assert options.cluster is not None
    workers = int(options.cluster.removeprefix("local:"))
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=max(1, options.threads // workers),
        processes=True,
        memory_limit=0,  # as without a cluster: batches in flight are bounded, the index is not
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


def _connect(target: Any) -> Any:
    arguments: dict[str, Any] = {"address": target}
    if isinstance(target, str) and "://" not in target:
        _wait_for_file(target)
        arguments = {"scheduler_file": target}
    elif isinstance(target, str) and target.startswith("tls://") and not _has_certificate():
        raise UsageError(f"{target} needs a certificate: configure distributed.comm.tls (docs/cluster.md)")
    try:
        return distributed.Client(**arguments, timeout=PATIENCE_S, set_as_default=False, name="gpualign")
    except (OSError, ValueError, distributed.TimeoutError) as error:
        shown = target if isinstance(target, str) else "the local cluster"
        raise GpualignError(f"no Dask scheduler answers at {shown} ({error})") from error


def _has_certificate() -> bool:
    return distributed.Security().get_connection_args("client").get("ssl_context") is not None


def reachable(address: str) -> bool:
    """Whether a worker can be asked for its results directly; behind a firewall they come by way of the scheduler."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_S).close()
    except (OSError, ValueError):
        return False
    return True


def _wait_for_file(path: str) -> None:
    """A scheduler that was started a moment ago may not have written its file yet."""
    end = time.monotonic() + PATIENCE_S
    while not (os.path.exists(path) and os.path.getsize(path)):
        if time.monotonic() > end:
            raise InputError(f"no scheduler has written this file within {PATIENCE_S:.0f} s", path)
        time.sleep(0.1)


def _wait_for_worker(client: Any, cluster: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    except distributed.TimeoutError as error:
        raise GpualignError(f"{cluster} has no worker (start some: dask worker {client.scheduler.address})") from error


def _dashboard(client: Any) -> str | None:
    link = client.dashboard_link
    return link or None


def _close(what: Any, timeout: float) -> None:
    """Close a client or cluster; one that has lost the other side cannot do it in order."""
    with contextlib.suppress(OSError, distributed.TimeoutError, RuntimeError):
        what.close(timeout=timeout)
