# Two commands matter: `make demo` and `make test`. Both set up a virtual environment in .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-uncached check format clean

$(VENV)/.base: pyproject.toml hatch_build.py $(wildcard src/reliac/native/*.[ch])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all]'
	touch $@

$(VENV)/.test: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

demo: $(VENV)/.base
	$(BIN)/reliac demo --out demo-output

# First all is compiled, by two processes: else every worker of pytest would compile what it meets.
test: $(VENV)/.test
	$(BIN)/reliac warmup
	$(BIN)/python -m pytest -n auto --dist worksteal

# Every process compiles what it needs, and keeps nothing: takes several times as long, so continuous integration does without.
test-uncached: $(VENV)/.test
	RELIAC_KEEP_COMPILED=0 $(BIN)/python -m pytest -n auto --dist loadfile

check: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) src/reliac/native/*.library demo-output build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
