# make demo   set up, run the boat-spheres scene, leave a picture and a film
# make test   set up, run the linters and the tests
# The rest: setup, validate, bench, fuzz, soak, lock, clean, same-bits BASE=rev. PYTHON=/path/to/python chooses the interpreter.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTHONS := $(PYTHON) python3.11 python3.12 python3.13 python3
DEMO := boat-spheres
# of 36: within two minutes after the installation on two cores, half of them compilation
DEMO_FRAMES := 20

.PHONY: help setup demo test lint validate bench fuzz soak same-bits lock clean

help:
	@sed -n '1,3s/^# //p' Makefile

setup: $(STAMP)
	@:

# An interpreter is usable when its version is a tested one and it can make a virtual environment with pip
# in it (Debian packages that apart). A name may stand several times on the PATH, some of them broken, so all are tried.
$(STAMP): requirements.lock pyproject.toml
	@set -eu; \
	check='import sys; v = sys.version_info; sys.exit(3 if v < (3, 11) else 4 if v >= (3, 14) else 0)'; \
	if [ -x $(BIN)/python ] && $(BIN)/python -c "$$check" 2>/dev/null && $(PIP) --version >/dev/null 2>&1; then \
	  echo "setup: using the environment in $(VENV)"; \
	else \
	  chosen=; said=; \
	  for name in $(PYTHONS); do \
	    case $$name in \
	      */*) places=$$name ;; \
	      *) places=$$(IFS=:; for dir in $$PATH; do if [ -x "$$dir/$$name" ]; then printf '%s\n' "$$dir/$$name"; fi; done) ;; \
	    esac; \
	    if [ -z "$$places" ]; then said="$$said\n  $$name: not found"; fi; \
	    for python in $$places; do \
	      code=0; "$$python" -c "$$check" >/dev/null 2>&1 || code=$$?; \
	      if [ $$code = 3 ]; then said="$$said\n  $$python: is older than Python 3.11"; \
	      elif [ $$code = 4 ]; then said="$$said\n  $$python: is newer than Python 3.13, the newest that is tested"; \
	      elif [ $$code != 0 ]; then said="$$said\n  $$python: does not run"; \
	      elif ! "$$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then \
	        said="$$said\n  $$python: has no venv with pip (on Debian and Ubuntu: apt-get install python3-venv)"; \
	      else chosen=$$python; break 2; fi; \
	    done; \
	  done; \
	  if [ -z "$$chosen" ]; then \
	    printf "setup: Undertow needs Python 3.11, 3.12 or 3.13 with its venv module. Tried:$$said\n" >&2; \
	    echo "Install one of them, or name it: make setup PYTHON=/path/to/python3.12" >&2; \
	    exit 2; \
	  fi; \
	  echo "setup: making $(VENV) with $$chosen"; \
	  "$$chosen" -m venv --clear $(VENV); \
	fi
	@echo "setup: installing the locked packages (0.9 GB on disk, a minute or two the first time)"
	@$(PIP) install --quiet --require-hashes --only-binary :all: -r requirements.lock || { \
	  echo "setup: the packages of requirements.lock could not be installed; see the message above." >&2; \
	  echo "A package index must be reachable (pip's own settings, such as PIP_INDEX_URL, are respected)." >&2; exit 2; }
	@$(PIP) install --quiet --no-deps --no-build-isolation --no-index -e .
	@touch $@
	@echo "setup: done; the program is $(BIN)/undertow"

demo: setup
	@echo "demo: running the scene $(DEMO); the first run also compiles the kernels"
	@run=$$($(BIN)/undertow run $(DEMO) --frames $(DEMO_FRAMES)) && \
	for made in preview.png preview.mp4; do \
	  [ -f "$$run/$$made" ] || { echo "demo: $$run has no $$made; see the messages above" >&2; exit 1; }; \
	done && \
	echo "demo: the picture is $$run/preview.png, the film $$run/preview.mp4" && \
	echo "demo: look around in it with  $(BIN)/undertow view $$run"

lint: setup
	@echo "test: ruff and mypy"
	@$(BIN)/ruff check .
	@$(BIN)/mypy

test: lint
	@echo "test: pytest, two halves at once; the second prints when both are done"
	@$(BIN)/python tests/halves.py

validate: setup
	@$(BIN)/undertow validate

bench: setup
	@$(BIN)/undertow bench

# The frozen scenes in this tree and in that of a revision, bit by bit: BASE=rev, ONLY="tank-soft wcsph" chooses scenes.
same-bits: setup
	@[ -n "$(BASE)" ] || { echo "same-bits: name a revision: make same-bits BASE=main" >&2; exit 2; }
	@$(BIN)/python tests/frozen/freeze.py --same-bits "$(BASE)" $(foreach name,$(ONLY),--only $(name))

# Mutants of scenes, meshes and checkpoints, other ones with every SEED.
HOURS := 2
SEED := 1
fuzz: setup
	@$(BIN)/python tests/fuzz/mutants.py --hours $(HOURS) --seed $(SEED)

# Runs that are killed at random and resumed, compared with runs that are not.
MINUTES := 60
soak: setup
	@UNDERTOW_EVERY_WRITE=1 $(BIN)/python -m pytest -q tests/run/test_faults.py
	@$(BIN)/python tests/fuzz/soak.py --minutes $(MINUTES) --seed $(SEED)

# Needs uv; run after a change of the dependencies in pyproject.toml. UPGRADE=--upgrade takes newer versions.
lock:
	uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest $(UPGRADE) --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --extra view --extra sph --extra peers --extra dev \
	  pyproject.toml --output-file requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache build dist
	find undertow tests -name __pycache__ -type d -prune -exec rm -rf {} +
