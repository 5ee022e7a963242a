"""gpualign: read mapping and sequence alignment on GPUs and CPUs, with the same bytes from both.

The functions below stand in each command's ``api.py`` and are imported when they are first used: ``import gpualign``
itself loads nothing heavy. Each command of the shell has its counterpart, on the same code. Positions are 0-based and
half-open here (the commands print 1-based, inclusive ones), sequences are known by their number and name, and
shares are fractions, not percentages.

>>> import gpualign
>>> gpualign.verify(["GATTACA"], ["CCGATTTACACC"])["distance"].tolist()
[1]
>>> gpualign.verify(["GATTACA"], ["CCGATTTACACC"], max_errors=0)["distance"].tolist()
[None]
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpualign.version import __version__ as __version__

if TYPE_CHECKING:
    from gpualign.chimeras.api import chimeras as chimeras
    from gpualign.cluster.api import cluster as cluster
    from gpualign.derep.api import derep as derep
    from gpualign.distances.api import distances as distances
    from gpualign.distances.api import scores as scores
    from gpualign.distances.pair import distance as distance
    from gpualign.distances.pair import normalized_distance as normalized_distance
    from gpualign.distances.pair import normalized_similarity as normalized_similarity
    from gpualign.distances.pair import similarity as similarity
    from gpualign.errors import DeviceError as DeviceError
    from gpualign.errors import GpualignError as GpualignError
    from gpualign.errors import InputError as InputError
    from gpualign.errors import UsageError as UsageError
    from gpualign.genomes.api import align as align
    from gpualign.lcs.api import lcs_filter as lcs_filter
    from gpualign.map.api import Mapper as Mapper
    from gpualign.map.hits import Hit as Hit
    from gpualign.markdup.api import mark_duplicates as mark_duplicates
    from gpualign.markdup.api import sort as sort
    from gpualign.mems.api import find_mems as find_mems
    from gpualign.pairwise.api import iter_pairwise as iter_pairwise
    from gpualign.pairwise.api import pairwise as pairwise
    from gpualign.reads.in_memory import read_sequences as read_sequences
    from gpualign.search.api import iter_search as iter_search
    from gpualign.search.api import search as search
    from gpualign.sintax.api import sintax as sintax
    from gpualign.tables.table import Table as Table
    from gpualign.verify.api import verify as verify


#: public name -> the module that has it
_HOMES = {
    "verify": "gpualign.verify.api",
    "pairwise": "gpualign.pairwise.api",
    "iter_pairwise": "gpualign.pairwise.api",
    "lcs_filter": "gpualign.lcs.api",
    "find_mems": "gpualign.mems.api",
    "align": "gpualign.genomes.api",
    "sort": "gpualign.markdup.api",
    "mark_duplicates": "gpualign.markdup.api",
    "search": "gpualign.search.api",
    "iter_search": "gpualign.search.api",
    "cluster": "gpualign.cluster.api",
    "derep": "gpualign.derep.api",
    "chimeras": "gpualign.chimeras.api",
    "sintax": "gpualign.sintax.api",
    "distances": "gpualign.distances.api",
    "scores": "gpualign.distances.api",
    "distance": "gpualign.distances.pair",
    "similarity": "gpualign.distances.pair",
    "normalized_distance": "gpualign.distances.pair",
    "normalized_similarity": "gpualign.distances.pair",
    "Mapper": "gpualign.map.api",
    "Hit": "gpualign.map.hits",
    "read_sequences": "gpualign.reads.in_memory",
    "Table": "gpualign.tables.table",
    "GpualignError": "gpualign.errors",
    "UsageError": "gpualign.errors",
    "InputError": "gpualign.errors",
    "DeviceError": "gpualign.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpualign' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_HOMES, "__version__"])


class _Package(ModuleType):
    """Keeps ``gpualign.verify`` the function: importing a module of the folder of that name would bind the folder."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
