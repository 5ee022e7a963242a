"""The structs that cross to a device, as Python sees them."""

from __future__ import annotations

import numpy as np
import pytest

from gpualign import _native
from gpualign.run.abi import changed, filled, struct


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


def test_values_of_every_kind() -> None:
    """A struct by its bytes, an array of structs, a struct as a tuple, numbers of other types, what has an index."""

    class Address:
        def __index__(self) -> int:
            return (1 << 64) - 2

    chains = [filled("ChainBatch", reads=number, candidates=(5, 6, number)) for number in (1, 2)]
    launch = filled(
        "SlowPathLaunch",
        chains=b"".join(chain.tobytes() for chain in chains),
        long_chains=chains[1],
        states=Address(),
        max_hits=np.int64(9),
        full=True,
    )
    assert launch["chains"]["reads"].tolist() == [1, 2]
    assert [arena.item() for arena in launch["chains"]["candidates"]] == [(5, 6, 1), (5, 6, 2)]
    assert (launch["long_chains"]["reads"], launch["states"], launch["max_hits"]) == (2, (1 << 64) - 2, 9)
    other = changed(launch, max_hits=8, full=False)
    assert (launch["max_hits"], launch["full"], other["max_hits"], other["full"]) == (9, 1, 8, 0)
    assert other["states"] == launch["states"]


@pytest.mark.parametrize("value", [1 << 64, -1])
def test_numbers_that_do_not_fit(value: int) -> None:
    with pytest.raises(OverflowError):
        filled("SlowPathLaunch", states=value)
    with pytest.raises(OverflowError):
        filled("SlowPathLaunch", max_hits=value % (1 << 65) + (1 << 40))


def test_a_verify_task_is_what_plans_hold() -> None:
    assert struct("VerifyTask").names == ("begin", "columns", "profile", "limit")
    assert struct("VerifyArrays").fields["hit_count"][1] == 80  # type: ignore[index]
