"""From ``--device`` and ``--cluster`` to a backend, which may open while the input is read."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from gpualign.engine.cluster import open_cluster
from gpualign.engine.select import open_here, parse_device
from gpualign.engine.stage import Backend
from gpualign.engine.work import Work
from gpualign.params import RunOptions


def open_backend(options: RunOptions, command: str, work: Work | None = None) -> Backend:
    """The backend that ``options.device`` and ``options.cluster`` ask for; use it in a ``with`` block.

    Args:
        work: with device "auto", what decides whether a GPU is worth its start; None: it is.

    Raises:
        UsageError: an unknown device, or Dask is not installed.
        DeviceError: GPUs were asked for by name and cannot be used.
        GpualignError: no scheduler answers, or it has no worker.
    """
    if options.cluster is not None:
        parse_device(options.device)
        return open_cluster(options, command)
    return open_here(options, command, work)


class Opening:
    """A backend that opens while the caller reads its input: a CUDA driver takes a third of a second to start.

    Use it in a ``with`` block, which closes the backend at its end. Arguments as of :func:`open_backend`.
    """

    def __init__(self, options: RunOptions, command: str, work: Work | None = None) -> None:
        self._future: Future[Backend] = Future()
        self._here = options.cluster is None
        request = parse_device(options.device)
        self._on_gpu = None if request.automatic else request.cuda
        if options.cluster is None and request.cuda:
            thread = ThreadPoolExecutor(1, thread_name_prefix="gpualign-open")
            self._future = thread.submit(open_backend, options, command, work)
            thread.shutdown(wait=False)
        else:
            self._future.set_result(open_backend(options, command, work))

    def backend(self) -> Backend:
        """The backend, once it is open.

        Raises:
            as :func:`open_backend`.
        """
        return self._future.result()

    def on_gpu(self) -> bool:
        """Whether a GPU will take items, at once where the request says so."""
        return self.backend().on_gpu if self._on_gpu is None else self._on_gpu

    @property
    def far(self) -> bool:
        """Whether what runs the stages may be on other machines."""
        return not self._here

    def workers_see(self, path: str) -> bool:
        """Whether what runs the stages reads the file itself: threads do, and workers of a cluster where they can."""
        return self._here or self.backend().sees(path)

    def __enter__(self) -> Opening:
        return self

    def __exit__(self, *_: object) -> None:
        if self._future.exception() is None:
            self._future.result().close()
