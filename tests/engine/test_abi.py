"""The structs that cross to a device, as Python sees them."""

from __future__ import annotations

import numpy as np
import pytest

from gpualign import _native
from gpualign.engine.gpu.abi import filled, struct


@pytest.mark.parametrize("name", list(_native.abi_structs()))
def test_fields_fill_the_struct(name: str) -> None:
    kind = struct(name)
    assert kind.itemsize == _native.abi_structs()[name][0]
    assert sum(kind[field].itemsize for field in kind.names or ()) == kind.itemsize


def test_a_struct_by_its_bytes() -> None:
    launch = filled("GapsLaunch", table=7, band=3)
    assert launch.tobytes()[104:112] == (7).to_bytes(8, "little")
    assert launch.tobytes()[184:188] == (3).to_bytes(4, "little")
    assert np.count_nonzero(np.frombuffer(launch.tobytes(), np.uint8)) == 2


def test_unknown_fields() -> None:
    with pytest.raises(ValueError, match="no field of name nothing"):
        filled("GapsLaunch", nothing=1)


def test_a_verify_task_is_what_plans_hold() -> None:
    assert struct("VerifyTask").names == ("begin", "columns", "profile", "limit")
    assert struct("VerifyArrays").fields["hit_count"][1] == 80  # type: ignore[index]
