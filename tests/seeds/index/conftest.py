"""A saved index."""

from __future__ import annotations

import numpy as np
import pytest

from gpualign.seeds.index.file import save_index
from gpualign.seeds.index.minimizers import IndexParams, build_index
from tests.helpers.sequences import make_reference


@pytest.fixture
def saved(tmp_path):
    rng = np.random.default_rng(5)
    reference = make_reference("".join(rng.choice(list("ACGTNR"), 2000)), "ACGT" * 50)
    index = build_index(reference, IndexParams(11, 4))
    path = str(tmp_path / "x.gpi")
    save_index(index, path)
    return index, path
