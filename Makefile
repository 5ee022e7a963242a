# One command each. The virtual environment is made in this folder; nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_OPTIONS ?=
PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check $(PIP_OPTIONS)

# an editable installation: a change of Python code needs no new install, a change of these does
NATIVE := pyproject.toml CMakeLists.txt $(shell find gpualign/native cuda/algo tests/native -type f)
EXAMPLE := examples/data

.PHONY: demo install dev test test-levels soak fuzz fuzz-corpus sanitize test-gpu sanitize-gpu wheel release docs man kernels lint lint-native bench report clean

demo: $(VENV)/installed
	@$(BIN)/python examples/demo.py

install: $(VENV)/installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(NATIVE) | $(BIN)/python
	@echo "Compiling for this machine's instruction set: two minutes on two cores, once."
	$(PIP_INSTALL) --editable '.[plot]'
	@for wheel in $(firstword $(wildcard dist/gpualign-*.whl)); do $(BIN)/python -m gpualign.cli.prebuild --wheel $$wheel; done
	touch $@

# This machine's instruction set, and no test that takes long by itself: `make test-levels` has those as well. The build tools are in .venv too, where pip otherwise has them in a folder that is new each time: so ninja compiles
# what a change concerns, and ccache, if it is installed, only what it has not compiled before.
LEVELS ?= native
TESTS ?= not gpu and not slow
# ON: warnings of the compiler are errors, and make lint needs no build of its own to see them
WERROR ?= OFF
OPTIMISATION ?= -O3
DEFINE := --config-settings=cmake.define
# precompiled headers take its place where it is missing (CMakeLists.txt)
CCACHE ?= $(shell command -v ccache)
$(VENV)/build-tools: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) 'scikit-build-core>=0.10' 'nanobind>=2.2' cmake ninja
	touch $@

# The packages that tests and checks need. `make -j2 dev` installs them while it compiles the program.
$(VENV)/packages: pyproject.toml packaging/requirements.py | $(VENV)/build-tools
	$(BIN)/python packaging/requirements.py dev > $(VENV)/requirements.txt
	$(PIP_INSTALL) -r $(VENV)/requirements.txt
	touch $@

# without MAKEFLAGS, as ninja would share the jobs of `make -j2`
$(VENV)/compiled: $(NATIVE) $(VENV)/build-tools
	MAKEFLAGS= PATH="$(abspath $(BIN)):$$PATH" $(PIP_INSTALL) --no-build-isolation --no-deps $(DEFINE).GPUALIGN_TESTS=ON \
	    '$(DEFINE).GPUALIGN_ISA_LEVELS=$(LEVELS)' $(DEFINE).GPUALIGN_WERROR=$(WERROR) \
	    $(DEFINE).GPUALIGN_OPTIMISATION=$(OPTIMISATION) \
	    $(if $(CCACHE),$(DEFINE).CMAKE_CXX_COMPILER_LAUNCHER=$(CCACHE)) --editable .
	touch $(VENV)/installed $@

$(VENV)/developing: $(VENV)/packages $(VENV)/compiled
	touch $@

# After a change of C++ or of a header: seconds.
dev: $(VENV)/developing

# Processes that run tests. Some tests wait, for signals and deadlines: .ci/run has one process more.
WORKERS ?= $(shell nproc)
test: $(VENV)/developing
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m '$(TESTS)'

# All tests with the native code for the oldest instruction set and for this machine's, which give the same bytes.
test-levels:
	rm -f $(VENV)/compiled
	$(MAKE) test LEVELS='x86_64_v2;native' TESTS='not gpu'

# The random tests at their full size: every allocation failed, 200 signals, a million pairs against other libraries.
# The pairs once more on a GPU where there is one. And tables of cases whole, of which `make test` has some: every bad
# input at every place that takes it.
SEED ?= $(shell date +%s)
SOAKED := tests/test_faults.py tests/test_soak.py tests/seeds/index/test_untrusted_index.py tests/cli/test_bad_input.py \
    tests/cli/test_signals.py tests/cluster/test_cluster.py tests/run/test_gpu_compiler.py tests/test_determinism.py \
    tests/cli/test_messages.py tests/map/test_device_text.py tests/map/test_text_on_device.py tests/map/test_meth_device.py \
    tests/run/test_memory.py tests/pairwise/test_wave.py tests/mems/test_fake_device.py tests/records/test_full_disk.py \
    tests/run/dask/test_commands.py tests/map/test_duplicates.py tests/map/test_coverage.py
SOAK := -o faulthandler_timeout=3600 --soak --seed $(SEED) -s
soak: $(VENV)/developing
	$(BIN)/python -m pytest -m 'not gpu' $(SOAK) $(SOAKED)
	if nvidia-smi -L > /dev/null 2>&1; then $(PIP_INSTALL) pycuda && $(BIN)/python -m pytest -m gpu $(SOAK) tests/test_soak.py; fi

# Coverage-guided fuzzing of every reader and formatter, FUZZ_S seconds each; needs clang. Findings stay in build/fuzz;
# `make fuzz-corpus` keeps the inputs that reach the most code, for later runs and for the tests.
FUZZ_S ?= 600
FUZZ := build/fuzz
PARSERS := fastx candidates records
READERS := reads pairs reference places pair_list matrix index lines
fuzz: $(VENV)/developing
	$(PIP_INSTALL) atheris
	$(BIN)/python fuzz/corpus.py seeds $(FUZZ)/seeds
	@for parser in $(PARSERS); do \
	    clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	        -Igpualign/native -Icuda fuzz/$$parser.cpp -o $(FUZZ)/$$parser && mkdir -p $(FUZZ)/found/$$parser && \
	    ./$(FUZZ)/$$parser -max_total_time=$(FUZZ_S) -max_len=4096 -artifact_prefix=$(FUZZ)/$$parser- \
	        $(FUZZ)/found/$$parser $(FUZZ)/seeds/$$parser || exit 1; done
	rm -rf $(FUZZ)/copy && mkdir -p $(FUZZ)/copy && cp -r gpualign $(FUZZ)/copy
	cp $(VENV)/lib/python*/site-packages/gpualign/_native/*.so $(FUZZ)/copy/gpualign/_native
	@for reader in $(READERS); do mkdir -p $(FUZZ)/found/$$reader && \
	    PYTHONPATH=$(FUZZ)/copy $(BIN)/python fuzz/parsers.py $$reader -max_total_time=$(FUZZ_S) -max_len=4096 \
	        -artifact_prefix=$(FUZZ)/$$reader- $(FUZZ)/found/$$reader $(FUZZ)/seeds/$$reader || exit 1; done

fuzz-corpus: $(VENV)/developing
	rm -rf $(FUZZ)/merged
	@for parser in $(PARSERS); do mkdir -p $(FUZZ)/merged/$$parser && \
	    ./$(FUZZ)/$$parser -merge=1 $(FUZZ)/merged/$$parser $(FUZZ)/found/$$parser $(FUZZ)/seeds/$$parser || exit 1; done
	cp -r $(addprefix $(FUZZ)/found/,$(READERS)) $(FUZZ)/merged  # atheris cannot merge
	$(BIN)/python fuzz/corpus.py keep $(FUZZ)/merged

# The tests with the native code under a sanitizer, in an environment next to .venv that uses its packages. Memory that
# Python never frees is no finding. SANITIZER=thread looks for races, in the tests that use threads: Python need not be
# built for it, as its lock is a mutex that the sanitizer knows.
SANITIZER ?= address,undefined
SANITIZER_LIBRARY := $(if $(filter thread,$(SANITIZER)),tsan,asan)
SANITIZED := build/$(SANITIZER_LIBRARY)
THREADED_TESTS := tests/test_determinism.py tests/test_soak.py tests/seeds/index/test_index.py tests/map/test_pairs.py \
    tests/map/test_long_reads.py tests/mems/test_mems.py
# of text and of other compilers, which do not run with a sanitizer preloaded
OTHER_TESTS := $(addprefix --ignore=,tests/test_docs.py tests/test_packaging.py tests/test_headers.py \
    tests/run/test_gpu_compiler.py)
SANITIZED_TESTS ?= $(if $(filter thread,$(SANITIZER)),$(THREADED_TESTS),tests $(OTHER_TESTS))
# Reports into files, as pytest keeps what a process says and most tests run processes of their own; the sanitizer of
# undefined behaviour has none, so it aborts, and Python says where it was.
REPORTS := log_path=$(abspath $(SANITIZED))/run/reports/found
SANITIZER_OPTIONS := ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:$(REPORTS) \
    TSAN_OPTIONS=suppressions=$(abspath tests/thread_sanitizer.txt):print_suppressions=0:$(REPORTS) \
    UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1
SANITIZED_LEVEL ?= x86_64_v3
sanitize: $(VENV)/developing
	$(PYTHON) -m venv $(SANITIZED)
	for site in $(SANITIZED)/lib/python*/site-packages; do \
	    ls -d $(abspath $(VENV))/lib/python*/site-packages > $$site/packages.pth; done
	$(SANITIZED)/bin/python -m pip install --quiet --no-deps --config-settings=build-dir=$(SANITIZED)/native \
	    --config-settings=cmake.define.GPUALIGN_SANITIZE=$(SANITIZER) \
	    --config-settings=cmake.define.GPUALIGN_ISA_LEVELS=$(SANITIZED_LEVEL) \
	    --config-settings=cmake.define.GPUALIGN_TESTS=ON .
	rm -rf $(SANITIZED)/run && mkdir -p $(SANITIZED)/run/reports
	cp -r cuda tests fuzz examples benchmarks docs packaging pyproject.toml $(SANITIZED)/run
	cd $(SANITIZED)/run && export $(SANITIZER_OPTIONS) && \
	    LD_PRELOAD="$$($(CXX) -print-file-name=lib$(SANITIZER_LIBRARY).so) $$($(CXX) -print-file-name=libstdc++.so)" \
	    ../bin/python -m pytest -m 'not gpu' -o faulthandler_timeout=3600 $(SANITIZED_TESTS)
	@! cat $(SANITIZED)/run/reports/* 2> /dev/null

# On a machine with a CUDA device and PyCUDA: the same cases on the device, byte-equal output files.
test-gpu: $(VENV)/developing
	$(PIP_INSTALL) pycuda
	$(BIN)/python -m pytest -m gpu

# compute-sanitizer's memcheck, racecheck and initcheck on `devices --check` and on maps of few reads; there too.
sanitize-gpu: $(VENV)/developing
	$(PIP_INSTALL) pycuda nvidia-cuda-sanitizer-api
	$(BIN)/python -m tests.helpers.sanitize_gpu

# sdist and wheels into dist, for every distribution since glibc 2.28, with prebuilt kernels where there is nvcc, and
# wheels of PyCUDA. Each is tried in an empty environment of every Python that it is for.
TARGET ?= $(shell uname -m)
wheel: $(VENV)/installed
	if command -v nvcc > /dev/null; then $(MAKE) kernels PYTHON=$(abspath $(BIN))/python; fi
	$(PIP_INSTALL) build
	rm -f dist/*$(TARGET).whl
	$(BIN)/python -m build --sdist --outdir dist .
	$(PYTHON) packaging/wheel.py --target $(TARGET)
	if [ $(TARGET) = "$$(uname -m)" ]; then \
	    $(PYTHON) packaging/pycuda_wheels.py && $(PYTHON) packaging/try_wheels.py dist/*.whl; fi

# Version and date into every file that names them, a commit and a tag; nothing is pushed (docs/developing.md).
release:
	$(PYTHON) packaging/release.py prepare $(VERSION)
	$(PYTHON) packaging/release.py tag

# The documentation as a site, in build/site: a link that leads nowhere is an error.
docs: $(VENV)/developing
	$(BIN)/python -m sphinx -q -W --keep-going -c docs/site . build/site
	@echo "build/site/index.html"

# Manual pages of all commands, into build/man.
man: $(VENV)/installed
	$(BIN)/python packaging/make_man.py build/man

# Prebuild all kernels (SASS and PTX) into cuda/prebuilt, from where a wheel takes them: needs nvcc, no device. With
# WHEEL=FILE.whl those of a wheel that are of these sources, in a second.
kernels:
	$(PYTHON) -m gpualign.cli.prebuild $(if $(WHEEL),--wheel $(WHEEL))

lint: $(VENV)/developing $(if $(filter ON,$(WERROR)),,lint-native)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run -Werror $$(git ls-files "*.[ch]pp" "*.cu" "*.cuh")
	$(BIN)/mypy
	$(BIN)/mypy examples/*.py
	$(BIN)/mypy docs/*.py
	$(BIN)/lint-imports

lint-native: $(VENV)/developing
	$(PIP_INSTALL) nanobind cmake ninja
	$(BIN)/cmake -S . -B build/lint -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	    -DPython_EXECUTABLE=$(abspath $(BIN))/python -DGPUALIGN_WERROR=ON -DGPUALIGN_LINT=ON -DGPUALIGN_TESTS=ON > /dev/null
	$(BIN)/cmake --build build/lint

# With other mappers: Debian's bwa, minimap2, bowtie2, seqan-apps (benchmarks/README.md); data is kept in .cache/bench.
bench: $(VENV)/installed
	$(PIP_INSTALL) --editable '.[bench]'
	$(BIN)/python benchmarks/run.py map verification

# All results in benchmarks/results into the pages that show them: docs/benchmarks.md, docs/benchmark-tables.md,
# docs/reliability-tables.md, figures, README.
report: $(VENV)/developing
	$(BIN)/python benchmarks/report.py

clean:
	rm -rf $(VENV) build dist demo.sam .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
