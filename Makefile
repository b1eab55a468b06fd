# Everything runs in a virtual environment of its own, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all test-slow bench published lint fuzz asan stress endurance stubs docs clean

demo: $(VENV)/report
	$(BIN)/seriatim compare spam

# On all cores; a core that has nothing left takes tests from the others.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: $(VENV)/tests
	$(PYTEST) -m "not slow"

test-all: $(VENV)/tests
	$(PYTEST)

# What test-all runs beside test.
test-slow: $(VENV)/tests
	$(PYTEST) -m slow

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint src
	$(BIN)/mypy

# Ratios to the peers, measured in one run; see SPEED.md.
bench: $(VENV)/tests .venv-peers/installed
	$(BIN)/python -m compileall -q src    # as pip does with what it installs
	$(BIN)/python -m bench

# The tables of the literature, beside ours; needs their data sets (SERIATIM_DATA, see CONTRIBUTING.md).
published: $(VENV)/tests
	$(BIN)/python -m bench.published

# Ten million steps of every learner on rows of very different lengths.
endurance: $(VENV)/tests
	$(BIN)/python -m tests.endurance

# A million mutated texts for the parsers and a hundred thousand mutated model files for the loader.
fuzz: $(VENV)/tests
	$(BIN)/python -m tests.fuzz 1000000

# A build of its own in which a read or write out of bounds, or an operation that C does not define, ends the process
# (gcc's AddressSanitizer and UndefinedBehaviorSanitizer), and on it the tests that go through all code in C.
# PYTHONMALLOC=malloc: memory that CPython hands out is watched, too. CPython itself leaks, so leaks are not looked for.
# --capture=no: else pytest keeps what a test that dies has said.
SANITIZED := PYTHONPATH=build/asan/lib PYTHONMALLOC=malloc UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)"

asan: $(VENV)/tests
	SERIATIM_SANITIZE=1 $(BIN)/python setup.py --quiet build --build-base build/asan --build-lib build/asan/lib
	$(SANITIZED) $(BIN)/python -m pytest -n 2 --capture=no tests/test_contract.py tests/test_modelfile.py \
		$(wildcard tests/*/test_contract.py tests/*/test_files.py)
	$(SANITIZED) $(BIN)/python -m tests.fuzz 20000

# Every algorithm interrupted at each line of Python and at random moments, used by ten threads, and commands killed.
stress: $(VENV)/tests
	$(BIN)/python -m tests.stress lines
	$(BIN)/python -m tests.stress moments 1000
	$(BIN)/python -m tests.stress threads 60
	$(BIN)/python -m tests.kills 500

stubs: $(VENV)/tests
	$(BIN)/python -m tests.stubs

# docs/algorithms.md, from the docstrings of the classes.
docs: $(VENV)/tests
	$(BIN)/python -m tests.pages

SOURCES := setup.py $(shell find src -name "*.pyx" -o -name "*.pxd" -o -name "*.h")

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip 'setuptools>=77' 'Cython>=3.3'

# Without isolation: a Cython of its own, in another place each time, would make every module look old.
$(VENV)/editable: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

# Compiles the modules that a change concerns.
$(VENV)/installed: $(VENV)/editable $(SOURCES)
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

# After the | stands what must be made before, but is no reason to ask pip again.
$(VENV)/report: $(VENV)/editable | $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'seriatim[report]'    # what is installed already is not built again
	touch $@

$(VENV)/tests: $(VENV)/editable | $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'seriatim[test]'
	touch $@

$(VENV)/lint: $(VENV)/tests
	$(BIN)/python -m pip install --quiet 'seriatim[dev]'
	touch $@

.venv-peers/installed: pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet vowpalwabbit scikit-learn gensim river scipy pyarrow universal-portfolios six
	touch $@

clean:
	rm -rf $(VENV) .venv-peers build bench/data
	find src -name '*.so' -delete
