"""Every input that fuzzing has kept, through the reader that it was found with: records or a refusal, nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import corpus, targets


@pytest.mark.parametrize("name", list(targets.TARGETS))
def test_kept_inputs(name: str, tmp_path: Path) -> None:
    inputs = corpus.seeds()[name] | corpus.kept(name)
    assert inputs
    for data in inputs.values():
        (tmp_path / "input").write_bytes(data)
        targets.run(name, str(tmp_path / "input"))


def test_every_finding_belongs_to_a_target() -> None:
    names = {path.name.split("-")[0] for path in corpus.FINDINGS.iterdir()}
    assert names <= set(corpus.seeds())
