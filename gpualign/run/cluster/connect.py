"""Connects a Dask client to the cluster that ``--dask`` names."""

from __future__ import annotations

import contextlib
import json
import logging
import pkgutil
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
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
#: Dask warns about tasks larger than this; tasks of many megabytes are normal here
_LARGE_TASK = "1 GiB"
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
#: seconds to wait for a worker that has results; a killed worker delays the run by as much
_WORKER_S = 5.0
#: seconds to wait for a connection to a worker
_REACH_S = 1.0


@dataclass(frozen=True)
class Connection:
    """A client, the address of its scheduler, and the address of the dashboard or None."""

    client: Any
    address: str
    dashboard: str | None


@contextlib.contextmanager
def connected(options: RunOptions) -> Iterator[Connection]:
    """Connect to the scheduler that ``options.dask`` names, or start one here for "local:N".

    Raises:
        GpualignError: no scheduler answers, or it has no worker.
        UsageError: it wants a certificate, and there is none.
    """
    assert options.dask is not None
    for name in ("distributed", "distributed.client", "distributed.nanny", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # each error is reported once, by gpualign
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_TASK}))
        target: Any = options.dask
        if target.startswith("local:"):
            stack.enter_context(dask.config.set(OWN))
            own = tempfile.TemporaryDirectory(prefix="gpualign-dask-", ignore_cleanup_errors=True)
            stack.enter_context(dask.config.set({"temporary-directory": stack.enter_context(own)}))
            stack.enter_context(undone_at_the_end(own.cleanup))
            target = _start_local(options)
            stack.callback(_close, target, 5)
        client = _connect(target)
        stack.callback(_close, client, 2)
        _wait_for_worker(client, options.dask)
        _check_versions(client)
        yield Connection(client, client.scheduler.address, client.dashboard_link or None)


def _start_local(options: RunOptions) -> Any:
    assert options.dask is not None
    workers = int(options.dask.removeprefix("local:"))
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=max(1, options.threads // workers),
        processes=True,
        memory_limit=0,  # batches in flight are bounded; the index may be of any size, as without a cluster
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )


def _connect(target: Any) -> Any:
    """Connect to a local cluster, or to a scheduler by its address or its file."""
    shown = "the local cluster"
    if isinstance(target, str):
        shown = target = target if "://" in target else _address_in(target)
        _check_address(target)
    try:
        client = distributed.Client(target, timeout=PATIENCE_S, set_as_default=False, name="gpualign")
    except (OSError, distributed.TimeoutError) as error:
        raise GpualignError(f"no Dask scheduler answers at {shown} (is it running, and are the ports open?)") from error
    client.rpc.timeout = _WORKER_S  # the default is the timeout of the scheduler
    return client


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
    if not address.startswith("tls://"):
        return
    if distributed.Security().get_connection_args("client").get("ssl_context") is None:
        raise UsageError(f"{address} needs a certificate: configure distributed.comm.tls (docs/guides/dask.md)")


def reachable(address: str) -> bool:
    """Whether the client can connect to a worker; if not, results come through the scheduler."""
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _REACH_S).close()
    except (OSError, ValueError):
        return False
    return True


def _wait_for_worker(client: Any, cluster: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    except distributed.TimeoutError as error:
        raise GpualignError(f"{cluster} has no worker (start some: dask worker {client.scheduler.address})") from error


def _check_versions(client: Any) -> None:
    """Compare versions with a function that exists without gpualign; workers that join later check their shards."""
    wanted = (pkgutil.resolve_name, "gpualign:__version__")
    answers = {f"worker {member}": answer for member, answer in client.run(*wanted, on_error="return").items()}
    try:
        answers["scheduler"] = client.run_on_scheduler(*wanted)
    except (ImportError, AttributeError) as error:
        answers["scheduler"] = error
    for member, answer in answers.items():
        if answer != __version__ and not isinstance(answer, OSError):  # OSError: the worker was lost meanwhile
            found = "no gpualign" if isinstance(answer, Exception) else f"gpualign {answer}"
            raise GpualignError(f"the {member} has {found}, this is {__version__} (install the same)")


def _close(what: Any, timeout: float) -> None:
    """Close a client or cluster; this fails if the other side is lost."""
    with contextlib.suppress(OSError, distributed.TimeoutError, RuntimeError):
        what.close(timeout=timeout)
