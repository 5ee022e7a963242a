"""What --device may say."""

from __future__ import annotations

import pytest

from gpualign.errors import UsageError
from gpualign.run.select import parse_device


@pytest.mark.parametrize(
    ("text", "cuda", "indices"),
    [
        ("auto", True, None),
        ("cpu", False, None),
        ("cuda", True, None),
        ("cuda:0,2", True, (0, 2)),
        ("cuda:0,cuda:2", True, (0, 2)),
    ],
)
def test_device_texts(text: str, cuda: bool, indices: tuple[int, ...] | None) -> None:
    request = parse_device(text)
    assert (request.cuda, request.indices) == (cuda, indices)


@pytest.mark.parametrize(
    "text",
    [
        "gpu",
        "cuda:",
        "cuda:a",
        "cuda:0,0",
        "cuda:0,cuda:0",
        "cuda,cuda:1",
        "cpu,cuda",
        "cuda,cpu",
        "cuda:1,cpu",
        "",
        "cuda:-1",
    ],
)
def test_bad_device_texts(text: str) -> None:
    with pytest.raises(UsageError, match="device"):
        parse_device(text)
