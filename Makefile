# Every target sets itself up: nothing is needed but Python ≥ 3.11 with its venv module.
#   make demo     fit a network on real data with compiled gradients
#   make test     everything a change must pass: format, lint, types, tests, doc examples
# Another interpreter: make test PYTHON=python3.12

SHELL  := bash
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip install --quiet --disable-pip-version-check
JOBS   ?= 2
PYTEST := $(PY) -m pytest -n $(JOBS)
PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
	$(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

.DELETE_ON_ERROR:
.PHONY: venv demo test format format-check lint types unit nightly bench golden clean

# One stamp for each set of packages; a change of pyproject.toml installs again.
PYVENV := $(VENV)/pyvenv.cfg
BASE   := $(VENV)/base.stamp
DEV    := $(VENV)/dev.stamp
PEERS  := $(VENV)/bench.stamp

venv: $(DEV)

$(PYVENV):
	@test -n "$(PYTHON)" || { echo "symgrad needs Python 3.11 or newer; found:" \
	    "$$(python3 --version 2>/dev/null || echo 'no python3')." \
	    "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(None if sys.version_info >= (3, 11) else \
	    "symgrad needs Python 3.11 or newer; $(PYTHON) is Python " + v)'
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) lacks the venv module" \
	    "(on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(BASE): $(PYVENV) pyproject.toml
	$(PIP) --editable .
	@touch $@

$(DEV): $(BASE)
	$(PIP) --editable '.[dev]'
	@touch $@

$(PEERS): $(BASE)
	$(PIP) --editable '.[bench]'
	@touch $@

demo: $(BASE)
	$(PY) -m benchmarks demo

test: format-check lint types unit

format: $(DEV)
	$(PY) -m ruff format
	$(PY) -m ruff check --fix

format-check: $(DEV)
	$(PY) -m ruff format --check

lint: $(DEV)
	$(PY) -m ruff check

types: $(DEV)
	$(PY) -m pyright --pythonpath $(PY)

unit: $(DEV)
	$(PYTEST)

nightly: $(DEV)
	$(PYTEST) -m "" --hypothesis-profile=nightly

golden: $(DEV)
	$(PYTEST) --update-golden
	@echo "Now review what changed: git diff tests/golden"

bench: $(PEERS)
	$(PY) -m benchmarks run

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
