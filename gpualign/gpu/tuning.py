"""Launch numbers in one place, by kernel, length class and compute capability. Swept by the benchmarks."""

from __future__ import annotations

#: what ``make kernels`` compiles beside every ``cuda/*.cu`` without macros: (module, macros)
VARIANTS: tuple[tuple[str, dict[str, str]], ...] = ()
