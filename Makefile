# Everything runs in a virtual environment of its own, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test bench published lint fuzz endurance stubs clean

demo: $(VENV)/report
	$(BIN)/seriatim compare spam

test: $(VENV)/tests
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(abspath $(BIN)):$$PATH" cython-lint src
	$(BIN)/mypy

# Ratios to the peers, measured in one run; see SPEED.md.
bench: $(VENV)/tests .venv-peers/installed
	$(BIN)/python -m compileall -q src    # as pip does with what it installs
	$(BIN)/python -m bench

# The tables of the literature, beside ours; needs their data sets (--data FOLDER).
published: $(VENV)/tests
	$(BIN)/python -m bench.published

# Ten million steps of every learner on rows of very different lengths.
endurance: $(VENV)/tests
	$(BIN)/python -m tests.endurance

# A million mutated texts for the parsers and a hundred thousand mutated model files for the loader.
fuzz: $(VENV)/tests
	$(BIN)/python -m tests.fuzz 1000000

stubs: $(VENV)/tests
	$(BIN)/python -m tests.stubs

SOURCES := pyproject.toml setup.py $(shell find src -name "*.pyx" -o -name "*.pxd" -o -name "*.h")

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/report: $(VENV)/installed
	$(BIN)/python -m pip install --quiet 'seriatim[report]'    # what is installed already is not built again
	touch $@

$(VENV)/tests: $(VENV)/installed
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
