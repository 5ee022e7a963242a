"""What --device may say."""

from __future__ import annotations

import pytest

from gpualign.errors import UsageError
from gpualign.run.select import parse_device


@pytest.mark.parametrize(
    ("text", "cuda", "indices", "cpu"),
    [
        ("auto", True, None, False),
        ("cpu", False, None, True),
        ("cuda", True, None, False),
        ("cuda:0,2", True, (0, 2), False),
        ("cuda:0,cuda:2", True, (0, 2), False),
        ("cuda:0,cuda:1,cpu", True, (0, 1), True),
        ("cuda,cpu", True, None, True),
        ("cuda:1,cpu", True, (1,), True),
    ],
)
def test_device_texts(text: str, cuda: bool, indices: tuple[int, ...] | None, cpu: bool) -> None:
    request = parse_device(text)
    assert (request.cuda, request.indices, request.cpu) == (cuda, indices, cpu)


@pytest.mark.parametrize(
    "text", ["gpu", "cuda:", "cuda:a", "cuda:0,0", "cuda:0,cuda:0", "cuda,cuda:1", "cpu,cuda", "", "cuda:-1"]
)
def test_bad_device_texts(text: str) -> None:
    with pytest.raises(UsageError, match="device"):
        parse_device(text)
