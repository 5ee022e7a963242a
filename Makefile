# One command each. A virtual environment is made under .venv; nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-gpu kernels lint bench wheel clean

$(VENV)/installed: pyproject.toml CMakeLists.txt $(wildcard gpualign/native/* cuda/algo/*)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check '.[test]'
	touch $@

test: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall .
	$(BIN)/python -m pytest -m 'not gpu'

# On a machine with a CUDA device and PyCUDA: the same cases on the device, byte-equal output files.
test-gpu: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check '.[test,cuda]'
	$(BIN)/python -m pytest -m gpu

# Prebuild all kernels (SASS and PTX) into cuda/prebuilt, from where a wheel takes them: needs nvcc, no device.
kernels:
	$(PYTHON) -m gpualign.gpu.prebuild

clean:
	rm -rf $(VENV) build dist .cache .pytest_cache .mypy_cache .ruff_cache
