"""The same commands on more than one machine: batches go to the workers of a Dask cluster, results come back in order.

Nothing outside this package imports Dask, and this package is imported only when a cluster was asked for.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from gpualign.errors import UsageError
from gpualign.params import RunOptions

if TYPE_CHECKING:
    from gpualign.engine.cluster.backend import ClusterBackend


def open_cluster(options: RunOptions, command: str) -> ClusterBackend:
    """Connect to the cluster that ``options.cluster`` names; use it in a ``with`` block.

    Raises:
        UsageError: Dask is not installed.
        GpualignError: no scheduler answers, or it has no worker.
    """
    try:
        _import_dask()
    except ModuleNotFoundError as error:
        raise UsageError("--cluster needs Dask (pip install 'gpualign[cluster]')") from error
    from gpualign.engine.cluster.backend import ClusterBackend

    return ClusterBackend(options, command)


def _import_dask() -> None:
    """Keep the garbage collector from looking through Dask's many objects again and again, now and later."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        import distributed  # noqa: F401
    finally:
        if enabled:
            gc.enable()
    gc.freeze()
