"""Several machines: a client sends batches to the workers of a Dask cluster and gets their results in order.

Nothing outside this package imports Dask, and Dask is imported only if ``--dask`` is given.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from gpualign.errors import UsageError
from gpualign.params import RunOptions

if TYPE_CHECKING:
    from gpualign.run.dask.backend import ClusterBackend


def open_cluster(options: RunOptions, command: str) -> ClusterBackend:
    """Connect to the cluster that ``options.dask`` names; the ``with`` block of the result disconnects.

    Raises:
        UsageError: Dask is not installed.
        GpualignError: no scheduler answers, or it has no worker.
    """
    try:
        _import_dask()
    except ModuleNotFoundError as error:
        raise UsageError("--dask needs Dask (pip install 'gpualign[cluster]')") from error
    from gpualign.run.dask.backend import ClusterBackend

    return ClusterBackend(options, command)


def _import_dask() -> None:
    """Import Dask and keep the garbage collector from scanning its many objects, now and later."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        import distributed  # noqa: F401
    finally:
        if enabled:
            gc.enable()
    gc.freeze()
