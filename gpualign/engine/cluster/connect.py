"""From ``--cluster`` to a connected Dask client."""

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

#: how long a scheduler, its file and the first worker may take to appear, seconds
PATIENCE_S = 30.0
#: an item of a large batch is normal here; Dask would warn of each
_LARGE_TASK = "1 GiB"
#: for clusters of our own
OWN = {
    # Dask samples every worker's stacks 100 times a second and looks 50 times a second whether its loops turn, which
    # costs a tenth of a core while nothing is done
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # A lost worker is started again at once, by its nanny. So long after each loss Dask looks whether it is there, and
    # if not gives up both: a worker that was lost a second time right then would never come back.
    "distributed.deploy.lost-worker-timeout": "365 days",
}
#: seconds for which a worker that has results is looked for: longer, and one that was killed holds up the run
_WORKER_S = 5.0
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
            stack.enter_context(dask.config.set(OWN))
            own = tempfile.TemporaryDirectory(prefix="gpualign-dask-", ignore_cleanup_errors=True)
            stack.enter_context(dask.config.set({"temporary-directory": stack.enter_context(own)}))
            stack.enter_context(undone_at_the_end(own.cleanup))
            target = _start_local(options)
            stack.callback(_close, target, 5)
        client = _connect(target)
        stack.callback(_close, client, 2)
        _wait_for_worker(client, options.cluster)
        _check_versions(client)
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
    """A client of a cluster of our own, or of the scheduler at an address or known by its file."""
    shown = "the local cluster"
    if isinstance(target, str):
        shown = target = target if "://" in target else _address_in(target)
        _check_address(target)
    try:
        client = distributed.Client(target, timeout=PATIENCE_S, set_as_default=False, name="gpualign")
    except (OSError, distributed.TimeoutError) as error:
        raise GpualignError(f"no Dask scheduler answers at {shown} ({error})") from error
    client.rpc.timeout = _WORKER_S  # otherwise the same as for the scheduler
    return client


def _address_in(path: str) -> str:
    """What a scheduler has written; one that was started a moment ago may not have done so yet."""
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
    """Before there is a client: one that never had a scheduler's address hangs at its end."""
    if address.startswith("inproc://"):  # of this process, without a port
        return
    try:
        get_address_host_port(address, strict=True)
    except ValueError as error:
        raise UsageError(f"{address} is not the address of a Dask scheduler ({error})") from None
    if address.startswith("tls://") and not _has_certificate():
        raise UsageError(f"{address} needs a certificate: configure distributed.comm.tls (docs/cluster.md)")


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


def _wait_for_worker(client: Any, cluster: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE_S)
    except distributed.TimeoutError as error:
        raise GpualignError(f"{cluster} has no worker (start some: dask worker {client.scheduler.address})") from error


def _check_versions(client: Any) -> None:
    """Ask what is there by a function that is everywhere; of workers that come later their shards ask."""
    wanted = (pkgutil.resolve_name, "gpualign:__version__")
    answers = {f"worker {member}": answer for member, answer in client.run(*wanted, on_error="return").items()}
    try:
        answers["scheduler"] = client.run_on_scheduler(*wanted)
    except (ImportError, AttributeError) as error:
        answers["scheduler"] = error
    for member, answer in answers.items():
        if answer != __version__ and not isinstance(answer, OSError):  # the worker is lost meanwhile
            found = "no gpualign" if isinstance(answer, Exception) else f"gpualign {answer}"
            raise GpualignError(f"the {member} has {found}, this is {__version__} (install the same)")


def _dashboard(client: Any) -> str | None:
    link = client.dashboard_link
    return link or None


def _close(what: Any, timeout: float) -> None:
    """Close a client or cluster; one that has lost the other side cannot do it in order."""
    with contextlib.suppress(OSError, distributed.TimeoutError, RuntimeError):
        what.close(timeout=timeout)
