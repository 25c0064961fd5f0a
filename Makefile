# Every target sets itself up once: virtual environment, locked packages, Java, Delta jars (tools/setup.sh).
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo demo-cluster test soak matrix ui lint bench lock clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## the whole loop on TPC-H data, with a report; ARGS="..." goes to `planopt demo`
	.venv/bin/planopt demo $(ARGS)

demo-cluster: $(READY) ## the same on a Spark cluster of two workers, started and stopped here, on 127.0.0.1
	.venv/bin/python -m planopt_tests.little_cluster .venv/bin/planopt demo --master {master} $(ARGS)

test: $(READY) ## all tests, in two processes; ARGS="-m fast" for those that need no JVM, in one
	$(if $(ARGS),.venv/bin/python -m pytest $(ARGS),bash tools/test.sh)

soak: $(READY) ## faults on a Spark cluster, which take too long for the suite
	@.venv/bin/python -m planopt_tests.class_archive >/dev/null 2>&1 || true
	.venv/bin/python -m pytest -p no:cacheprovider -m soak planopt_tests $(ARGS)

matrix: $(READY) ## the demo and the capture tests on every supported Spark, each in its own environment; ARGS="4.2" for one
	.venv/bin/python tools/matrix.py $(ARGS)

ui: $(READY) ## Dagster with the demo loaded, on 127.0.0.1
	.venv/bin/planopt ui

lint: $(READY) ## ruff and mypy
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

bench: $(READY) ## what planopt costs: capture by default; ARGS="--help" lists the others: "arms", "gains", "model STORE", ...
	.venv/bin/python -m benchmarks $(ARGS)

# uv keeps the versions that are in the file; ARGS=--upgrade takes the newest.
lock: ## write requirements.lock from pyproject.toml; ARGS=--upgrade for newer versions
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && \
	$(or $(PYTHON),python3) -m venv "$$tmp" && "$$tmp/bin/pip" install -q uv && \
	"$$tmp/bin/uv" pip compile pyproject.toml --all-extras --generate-hashes --no-emit-index-url --no-emit-find-links \
	  --no-annotate --no-header --python-version 3.11 -q $(ARGS) -o requirements.lock

clean: ## remove caches and build output; `rm -rf .venv` for a fresh set-up
	rm -rf dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml tools/setup.sh
	@bash tools/setup.sh
