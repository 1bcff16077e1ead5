# make demo   set up, map a family of domains, predict, write a report
# make test   set up, lint, type-check, check the layers, run the tests
# make quick  the same without the slow tests
# make docs   build the documentation into out/site, warnings as errors
# make bench  measure; results go to benchmarks/results
# make bench-tables  render benchmarks/results/benchmark.jsonl, which `domindex bench` wrote
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test quick lint pytest docs bench bench-tables clean

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: lint pytest

quick: lint
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

pytest: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python benchmarks/bench_transport.py
	$(BIN)/python benchmarks/bench_time.py
	$(BIN)/python benchmarks/bench_model.py
	$(BIN)/python benchmarks/bench_regression.py
	$(BIN)/domindex bench --out benchmarks/results
	$(BIN)/python benchmarks/bench_tables.py

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

bench-tables: $(STAMP)
	$(BIN)/python benchmarks/bench_tables.py

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) out .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
