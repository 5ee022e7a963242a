"""Connects a Dask client to the cluster that ``--dask`` names."""

from __future__ import annotations

import contextlib
import json
import logging
import pkgutil
import socket
import tempfile
import time
from collections.abc import Collection, Iterator
from typing import Any

import dask
import distributed
from distributed.comm.addressing import get_address_host_port

from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError, InputError, UsageError
from gpualign.params import RunOptions
from gpualign.version import __version__

#: seconds to wait for a scheduler, its file and the first worker
PATIENCE_S = 30.0
#: seconds to wait for a worker that has results, which a killed worker delays the run by; and for a connection to it
_WORKER_S, _REACH_S = 5.0, 1.0
#: Dask's configuration for ``--dask local:N``
OWN = {
    # Dask samples each worker's stacks 100 times a second and checks its event loops 50 times a second, which takes a
    # tenth of a core even when the cluster is idle
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # A nanny restarts its worker at once. After this time Dask checks whether the worker is there, and otherwise stops
    # the nanny as well: a worker that is lost a second time just then would never come back.
    "distributed.deploy.lost-worker-timeout": "365 days",
}


@contextlib.contextmanager
def connected(options: RunOptions) -> Iterator[Any]:
    """A client of the scheduler that ``options.dask`` names, or of one that is started here for "local:N".

    Raises:
        GpualignError: no scheduler answers, or it has no worker.
        UsageError: it wants a certificate, and there is none.
    """
    where: Any = options.dask
    for name in ("distributed", "distributed.client", "distributed.nanny", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # each error is reported once, by gpualign
    with contextlib.ExitStack() as stack:
        # Dask warns about larger tasks; tasks of many megabytes are normal here
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}))
        if where.startswith("local:"):
            target, shown = _started(int(where.removeprefix("local:")), options.threads, stack), "the local cluster"
        else:
            target = shown = where if "://" in where else _address_in(where)
            _check_address(target)
        try:
            client = distributed.Client(target, timeout=PATIENCE_S, set_as_default=False, name="gpualign")
        except (OSError, distributed.TimeoutError) as error:
            what = f"no Dask scheduler answers at {shown} (is it running, and are the ports open?)"
            raise GpualignError(what) from error
        client.rpc.timeout = _WORKER_S  # the default is the timeout of the scheduler
        stack.callback(_close, client, 2)
        try:
            client.wait_for_workers(1, timeout=PATIENCE_S)
        except distributed.TimeoutError as error:
            raise GpualignError(f"{where} has no worker (start some: dask worker {shown})") from error
        yield client


def _started(workers: int, threads: int, stack: contextlib.ExitStack) -> Any:
    """A cluster of this machine, up as long as ``stack``."""
    own = tempfile.TemporaryDirectory(prefix="gpualign-dask-", ignore_cleanup_errors=True)
    stack.enter_context(dask.config.set(OWN | {"temporary-directory": stack.enter_context(own)}))
    stack.enter_context(undone_at_the_end(own.cleanup))
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=max(1, threads // workers),
        processes=True,
        memory_limit=0,  # batches in flight are bounded; the index may be of any size, as without a cluster
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )
    stack.callback(_close, cluster, 5)
    return cluster


def _address_in(path: str) -> str:
    """The address in a scheduler's file; waits for a scheduler that was just started."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            with open(path) as file:
                return str(json.load(file)["address"])
        except (FileNotFoundError, ValueError, KeyError, TypeError) as error:
            if time.monotonic() > end:
                missing = isinstance(error, FileNotFoundError)
                what = "no scheduler has written this file" if missing else "this is not a scheduler's file"
                raise InputError(f"{what} (waited for {PATIENCE_S:.0f} s)", path) from None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path) from None
        time.sleep(0.1)


def _check_address(address: str) -> None:
    """Check an address before Dask gets it: a client that never had a valid address hangs when it is closed.

    Raises:
        UsageError: it is invalid, or it wants a certificate and there is none.
    """
    if address.startswith("inproc://"):  # a scheduler in this process, which has no port
        return
    try:
        get_address_host_port(address, strict=True)
    except ValueError as error:
        raise UsageError(f"{address} is not the address of a Dask scheduler (tcp://HOST:PORT)") from error
    connection = distributed.Security().get_connection_args("client")
    if address.startswith("tls://") and connection.get("ssl_context") is None:
        raise UsageError(f"{address} needs a certificate: configure distributed.comm.tls (docs/guides/dask.md)")


def reachable(address: str) -> bool:
    """Whether the client can connect to a worker; if not, results come through the scheduler."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_S).close()
    except (OSError, ValueError):
        return False
    return True


def check_versions(client: Any, workers: Collection[str]) -> None:
    """
    Raises:
        GpualignError: a worker or the scheduler has another version of gpualign.
    """
    wanted = (pkgutil.resolve_name, "gpualign:__version__")  # a function that exists without gpualign
    found = client.run(*wanted, workers=list(workers), on_error="return")
    answers = {f"worker {worker}": answer for worker, answer in found.items()}
    try:
        answers["scheduler"] = client.run_on_scheduler(*wanted)
    except (ImportError, AttributeError) as error:
        answers["scheduler"] = error
    for member, answer in answers.items():
        if answer != __version__ and not isinstance(answer, OSError):  # OSError: the worker was lost meanwhile
            other = "no gpualign" if isinstance(answer, Exception) else f"gpualign {answer}"
            raise GpualignError(f"the {member} has {other}, this is {__version__} (install the same)")


def _close(what: Any, timeout: float) -> None:
    """Close a client or cluster; this fails if the other side is lost."""
    with contextlib.suppress(OSError, distributed.TimeoutError, RuntimeError):
        what.close(timeout=timeout)
