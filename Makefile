# Everything a developer or user does. `make help` lists the targets.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: prerequisites
prerequisites:
	@$(PYTHON) scripts/prerequisites.py || { command -v $(PYTHON) >/dev/null || \
		echo "python3 is missing: apt-get install python3 python3-venv"; exit 2; }

$(VENV)/core: pyproject.toml requirements/core.lock | prerequisites
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements/core.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/dev: $(VENV)/core requirements/dev.lock
	$(BIN)/pip install --quiet --requirement requirements/dev.lock
	@touch $@

.PHONY: install
install: $(VENV)/core ## Make .venv with the core

.PHONY: install-dev
install-dev: $(VENV)/dev ## And with what development needs

# The demo's data, whatever server its user has signed in to.
HERE := PROCTOR_HOME=$(CURDIR)/.proctor PROCTOR_SERVER=local

.PHONY: demo
demo: $(VENV)/core ## Run five agents on eight tasks in sandboxes; leaderboard and report/demo.html
	@mkdir -p report
	$(HERE) $(BIN)/proctor run examples/demo.toml --html report/demo.html
	@echo "To look further:  . $(BIN)/activate; export $(HERE); proctor cells --outcome failed"

.PHONY: demo-faults
demo-faults: $(VENV)/core ## Make every kind of fault on purpose; what is not the agent's is owed, not failed
	@mkdir -p report
	@$(HERE) PROCTOR_LEASE_SEC=4 $(BIN)/proctor run examples/faults.toml --fresh \
		--html report/faults.html || test $$? -eq 3  # gaps remain: some faults were never to be got over

.PHONY: lint
lint: $(VENV)/dev ## Formatting, lint, types, import arrows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

CORE := tests/acceptance tests/integration tests/unit \
	-m "not commands and not endurance and not journey and not sandboxes and not server"

.PHONY: test
test: lint ## The tests a change needs (at most 10 minutes)
	$(BIN)/pytest $(CORE) -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: coverage
coverage: $(VENV)/dev ## The same tests, with the lines they reach
	$(BIN)/pytest $(CORE) -n 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term

.PHONY: test-commands
test-commands: $(VENV)/dev ## Long uses of the command line, a user's mistakes among them
	$(BIN)/pytest tests/acceptance -m commands -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-sandboxes
test-sandboxes: $(VENV)/dev ## What sandboxes of this machine hold, against attacks and forgeries
	$(BIN)/pytest tests/integration -m sandboxes -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-endurance
test-endurance: $(VENV)/dev ## Processes, databases and networks that die and come back
	$(BIN)/pytest tests/integration -m endurance -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-models
test-models: $(VENV)/dev ## Models: the gateway under misbehaving providers, budgets over processes that are killed
	$(BIN)/pytest tests/models -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-data
test-data: $(VENV)/dev ## Datasets, evaluators, evaluation jobs, results and statistics
	$(BIN)/pytest tests/data -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-server
test-server: test-api test-document test-team ## The server, all of it

.PHONY: test-api
test-api: $(VENV)/dev ## Of it: routes, tenants apart, keys, live streams
	$(BIN)/pytest tests/api --ignore tests/api/test_document.py -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-document
test-document: $(VENV)/dev ## Of it: the whole OpenAPI document asked as every role and as nobody
	$(BIN)/pytest tests/api/test_document.py -n 2

.PHONY: test-team
test-team: $(VENV)/dev ## Of it: a team's first day, every command from afar, secrets, logs, backups, the SDK
	$(BIN)/pytest tests/acceptance -m "server" -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-journeys
test-journeys: $(VENV)/dev ## Long journeys of users: certificates, audit, comparison and gate, faults on purpose
	$(BIN)/pytest tests/acceptance -m journey -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: test-chaos
test-chaos: $(VENV)/dev ## 100 faults at random moments, 25 to a server; FAULTS=1000 for more, SEED=n repeats one
	$(BIN)/pytest tests/chaos -s $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS))

.PHONY: test-docker
test-docker: test-docker-sandboxes test-docker-runs ## The docker backend on a real engine (as root: starts one)

DOCKER_SANDBOXES := tests/docker/test_contract.py tests/docker/test_images.py tests/docker/test_mirrors.py \
	tests/docker/test_networks.py tests/docker/test_services.py tests/docker/test_disks.py \
	tests/docker/test_old_images.py tests/docker/test_users.py tests/docker/test_leavings.py

.PHONY: test-docker-sandboxes
test-docker-sandboxes: $(VENV)/dev ## Of these: containers, images, networks, services
	$(BIN)/pytest $(DOCKER_SANDBOXES)

.PHONY: test-docker-runs
test-docker-runs: $(VENV)/dev ## Of these: whole runs
	$(BIN)/pytest tests/docker $(DOCKER_SANDBOXES:%=--ignore=%)

.PHONY: test-podman
test-podman: $(VENV)/dev ## The contract of sandboxes on Podman (as root: starts a service of its own)
	PROCTOR_TEST_ENGINE=podman $(BIN)/pytest tests/docker/test_contract.py

.PHONY: test-foreign
test-foreign: $(VENV)/dev ## Foreign tools as judges, in environments of their own
	$(BIN)/pytest tests/foreign

.PHONY: test-agents
test-agents: $(VENV)/dev ## Agents that others made, installed from PyPI and npm, each driven in a sandbox (minutes)
	$(BIN)/pytest tests/agents/test_agents.py

.PHONY: test-harbor
test-harbor: $(VENV)/dev ## Harbor's agents through the bridge, on a Python 3.12 of this machine (minutes)
	$(BIN)/pytest tests/agents/test_harbor.py

.PHONY: test-external-postgres
test-external-postgres: $(VENV)/dev ## The database tests against Debian's PostgreSQL, and through a flaky TLS proxy
	PROCTOR_TEST_DATABASE=external $(BIN)/pytest tests/integration tests/models -m "database and not endurance"
	PROCTOR_TEST_DATABASE=proxy $(BIN)/pytest -m database tests/integration/test_engine_runs.py \
		tests/integration/test_engine_reconnect.py tests/integration/test_engine_recording.py

.PHONY: test-external-data
test-external-data: $(VENV)/dev ## Datasets, jobs and results against Debian's PostgreSQL
	PROCTOR_TEST_DATABASE=external $(BIN)/pytest tests/data -m database

.PHONY: certify
certify: $(VENV)/dev ## Certify all example tasks: solutions pass, forgeries don't
	@home=$$(mktemp -d) && chmod 755 $$home && export PROCTOR_HOME=$$home && trap 'rm -rf "$$home"' EXIT \
		&& $(BIN)/proctor suite check examples/workshop

.PHONY: certify-some
certify-some: $(VENV)/dev ## Those that fit into SECONDS, drawn by SEED
	$(BIN)/python scripts/certify.py $(or $(SEED),1) $(or $(SECONDS),120)

.PHONY: test-all
test-all: test test-commands test-sandboxes test-endurance test-models test-data test-server certify test-chaos test-foreign test-external-postgres ## Every tier

.PHONY: bench
bench: $(VENV)/dev ## Speeds, as ratios in one run, into benchmarks/results
	$(BIN)/python -m benchmarks

.PHONY: lock
lock: $(VENV)/dev ## Resolve the dependencies anew
	$(BIN)/python scripts/lock.py

.PHONY: web
web: $(VENV)/dev ## Build the dashboard into src/proctor/dashboard (npm's registry has to be in reach)
	$(BIN)/python scripts/build_web.py

.PHONY: web-api
web-api: $(VENV)/dev ## Write the OpenAPI document to web/openapi.json, which the dashboard's types are made of
	$(BIN)/python scripts/write_openapi.py

.PHONY: test-web-parts
test-web-parts: web web-api ## The dashboard's parts: formatting, lint, types (also against the API's), component tests
	cd web && PATH=$(CURDIR)/$(BIN):$$PATH && npm run types && git diff --exit-code src/api/schema.d.ts \
		&& npm run lint && npm test

WEB_PAGES := tests/web/test_pages.py tests/web/test_palette.py

.PHONY: test-web
test-web: test-web-pages test-web-journeys ## The dashboard in a real Chromium before a real server

.PHONY: test-web-pages
test-web-pages: web ## Of it: every page in both themes at every width; screenshots into report/dashboard
	$(BIN)/pytest $(WEB_PAGES)

.PHONY: test-web-journeys
test-web-journeys: web ## Of it: what people come for, and how soon they have it
	$(BIN)/pytest tests/web $(addprefix --ignore ,$(WEB_PAGES))

.PHONY: down
down: ## Stop the demo's database
	$(HERE) $(BIN)/proctor down

.PHONY: clean
clean: ## Remove what was built (not the demo's data)
	rm -rf build dist report .coverage .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
