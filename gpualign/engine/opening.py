"""From ``--device`` and ``--cluster`` to a backend, opened in the background."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from gpualign.engine.cluster import open_cluster
from gpualign.engine.select import open_backend, parse_device
from gpualign.engine.stage import Backend
from gpualign.engine.work import Work
from gpualign.params import RunOptions


class Opening:
    """A backend that opens while the caller reads its input: a CUDA driver takes a third of a second to start.

    Use it in a ``with`` block, which closes the backend at its end. Takes the arguments of :func:`open_backend`.

    Attributes:
        remote: stages may run on other machines.
    """

    def __init__(self, options: RunOptions, command: str, work: Work | None = None) -> None:
        self._future: Future[Backend] = Future()
        self.remote = options.cluster is not None
        request = parse_device(options.device)
        self._on_gpu = None if request.automatic else request.cuda
        if self.remote:
            self._future.set_result(open_cluster(options, command))
        elif request.cuda:
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
        """Whether a GPU will take items; waits for the backend only if the device is "auto"."""
        return self.backend().on_gpu if self._on_gpu is None else self._on_gpu

    def __enter__(self) -> Opening:
        return self

    def __exit__(self, *_: object) -> None:
        if self._future.exception() is None:
            self._future.result().close()
