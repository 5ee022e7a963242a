# One command each. Virtual environments are made in this folder; nothing is installed elsewhere.
PYTHON ?= python3
# the installed program, as a user has it
VENV := .venv
BIN := $(VENV)/bin
# the tests' environment: installed in place, so that a change of Python code needs no new install
DEV := .venv-dev
DEVBIN := $(DEV)/bin
PIP_FLAGS := --quiet --disable-pip-version-check

SOURCES := pyproject.toml CMakeLists.txt $(shell find gpualign cuda -type f -not -name '*.pyc' -not -name '*.so')
NATIVE := pyproject.toml CMakeLists.txt $(shell find gpualign/native cuda/algo -type f)
EXAMPLE := examples/data

.PHONY: demo install test test-gpu kernels lint bench clean

demo: $(VENV)/installed
	$(BIN)/gpualign map $(EXAMPLE)/genomes.fa $(EXAMPLE)/SRR059298_25k.fastq.gz -o demo.sam
	@echo "The first records of demo.sam:"
	@head -n 13 demo.sam | cut -c 1-150

install: $(VENV)/installed

$(VENV)/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install $(PIP_FLAGS) .
	touch $@

$(DEV)/installed: $(NATIVE)
	test -x $(DEVBIN)/python || $(PYTHON) -m venv $(DEV)
	$(DEVBIN)/pip install $(PIP_FLAGS) --editable '.[dev]'
	touch $@

test: $(DEV)/installed
	$(DEVBIN)/python -m pytest -m 'not gpu'

# On a machine with a CUDA device and PyCUDA: the same cases on the device, byte-equal output files.
test-gpu: $(DEV)/installed
	$(DEVBIN)/pip install $(PIP_FLAGS) --editable '.[dev,cuda]'
	$(DEVBIN)/python -m pytest -m gpu

# Prebuild all kernels (SASS and PTX) into cuda/prebuilt, from where a wheel takes them: needs nvcc, no device.
kernels:
	$(PYTHON) -m gpualign.gpu.prebuild

lint: $(DEV)/installed
	$(DEVBIN)/ruff check .
	$(DEVBIN)/ruff format --check .
	$(DEVBIN)/mypy
	$(DEVBIN)/pip install $(PIP_FLAGS) nanobind cmake ninja
	$(DEVBIN)/cmake -S . -B build/lint -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(DEVBIN))/ninja \
	    -DPython_EXECUTABLE=$(abspath $(DEVBIN))/python -DGPUALIGN_WERROR=ON -DGPUALIGN_LINT=ON > /dev/null
	$(DEVBIN)/cmake --build build/lint

# Beside other mappers: Debian's bwa, minimap2, bowtie2, seqan-apps (benchmarks/README.md); data is kept in .cache/bench.
bench: $(VENV)/installed
	$(BIN)/pip install $(PIP_FLAGS) '.[bench]'
	$(BIN)/python benchmarks/map.py
	$(BIN)/python benchmarks/verification.py

clean:
	rm -rf $(VENV) $(DEV) build dist demo.sam .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
