"""atheris on the readers in Python (targets.py).

python fuzz/parsers.py TARGET [libFuzzer's options]
"""

from __future__ import annotations

import os
import sys
import tempfile

import atheris

# what an editable installation finds its modules with hides their code from atheris; make fuzz gives it a copy
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
with atheris.instrument_imports(include=["gpualign"]):
    import targets


def main() -> None:
    name = sys.argv.pop(1)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = os.path.join(folder, "input")

        def one(data: bytes) -> None:
            with open(path, "wb") as file:
                file.write(data)
            targets.run(name, path)

        atheris.Setup(sys.argv, one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
