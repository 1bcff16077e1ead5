# make demo   set up, map a family of domains, predict, write a report
# make test   set up, lint, type-check, check the layers, run the tests
# make test-all  the same with the long tests, and once more as an older processor rounds
# make coverage  the tests, and which lines of src none of them runs; fails below 95 %
# make docs   build the documentation into out/site, warnings as errors
# make tutorials  run the notebooks and draw the gallery again, keeping what they show
# make lock   write requirements.lock: versions and hashes of all that is installed; make locked installs just that
# make licences  list the licence of every dependency
# make audit  ask for known holes in what is installed; needs a network
# make bench  measure all suites, as far as the record lacks them; benchmarks/results/record.jsonl
# make bench-tables  render the record: benchmarks/results/*.md, docs/results.md and the README's chart
# make bench-constants  measure the committee's constants: constants.json, benchmarks/results/constants.md
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder
STAMP := $(VENV)/.installed

.PHONY: demo test test-all lock-check lint pytest pytest-all coverage docs tutorials lock locked licences audit bench bench-tables bench-constants clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: lint pytest

test-all: lint lock-check pytest-all

lock-check: $(STAMP)
	$(BIN)/python -m domindex_bench.scripts.lock --check

pytest: $(STAMP)
	$(PYTEST) -m "not full" --durations 25

# Other instructions of the processor change last bits: no test may hang on one.
pytest-all: $(STAMP)
	$(PYTEST) --durations 25
	OPENBLAS_CORETYPE=Sandybridge ATEN_CPU_CAPABILITY=default $(PYTEST) -m "not full"

coverage: $(STAMP)
	$(PYTEST) --cov --cov-report term --cov-fail-under 95

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/domindex-bench run --suite all --out benchmarks/results
	$(MAKE) bench-tables

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

tutorials: $(STAMP)
	$(BIN)/python examples/run_tutorials.py
	$(BIN)/python examples/gallery.py

lock: $(STAMP)
	$(BIN)/python -m domindex_bench.scripts.lock

# Each archive against its hash, then torch, whose builds share a version and no hash.
locked:
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e benchmarks
	$(BIN)/python -m pip check
	touch $(STAMP)

licences: $(STAMP)
	$(BIN)/python -m domindex_bench.scripts.licences

audit: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --skip-editable

bench-tables: $(STAMP)
	$(BIN)/domindex-bench render --out benchmarks/results --readme docs/results.md

bench-constants: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m domindex_bench.constants --out benchmarks/results --page benchmarks/results/constants.md

$(STAMP): pyproject.toml benchmarks/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e benchmarks
	touch $@

clean:
	rm -rf $(VENV) out .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
