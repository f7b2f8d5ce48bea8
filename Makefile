# Each target sets itself up: a virtual environment in the clone, nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
PEERS := .venv-peers
ENGINES := .venv-engines
N ?= 1000000

# LightGBM's and XGBoost's OpenMP threads would spin while they wait.
export OMP_WAIT_POLICY := passive
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Each tester would compile all tests again, every time.
export PYTHONDONTWRITEBYTECODE :=

# One process more than cores: many tests wait for processes of their own.
TESTERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
PYTEST = -c $(CURDIR)/pyproject.toml --rootdir=$(CURDIR) -p no:cacheprovider -q
SOURCES := $(shell find cpp src -type f -not -name '*.so' -not -path '*/__pycache__/*')

.PHONY: help demo screenshot test test-systems test-peers test-environments test-pythons audit soak sanitize check format stubs bench docs reproduce fuzz golden clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

# ---- environments ----

$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -qq --upgrade pip
	$(BIN)/python -m pip install -qq "scikit-build-core>=0.11" "nanobind>=2.4" ninja cmake
	# The dependencies of the dev extra, without building the project itself.
	$(BIN)/python -c "import tomllib; p = tomllib.load(open('pyproject.toml', 'rb'))['project']; e = p['optional-dependencies']; print(*p['dependencies'], *e['frames'], *e['report'], *e['data'], *e['tune'], *e['serve'], *e['dask'], *e['docs'], *[d for d in e['dev'] if not d.startswith('rankwright')], sep='\n')" > $(VENV)/requirements.txt
	$(BIN)/python -m pip install -qq -r $(VENV)/requirements.txt
	touch $@

# What users get: sdist -> wheel -> installed.
$(VENV)/installed: $(VENV)/tools $(SOURCES) CMakeLists.txt pyproject.toml
	rm -rf dist
	$(BIN)/python -m build -q --no-isolation --outdir dist
	$(BIN)/python -m pip install -qq --force-reinstall --no-deps dist/*.whl
	touch $@

$(PEERS)/installed: $(VENV)/installed benchmarks/requirements.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install -qq --upgrade pip
	$(PEERS)/bin/python -m pip install -qq pytest hypothesis -r benchmarks/requirements.txt
	$(PEERS)/bin/python -m pip install -qq --force-reinstall --no-deps dist/*.whl
	$(PEERS)/bin/python -m pip install -qq "$$(ls dist/*.whl)[serve]"
	touch $@

# The engines that exports go to beside the tools of $(VENV). All together, so that their versions suit each other; where
# some cannot be installed, the others one by one.
$(ENGINES)/installed: $(VENV)/installed tests/systems/requirements.txt
	$(BIN)/python -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip install -qq -r tests/systems/requirements.txt || while read -r package; do \
		$(ENGINES)/bin/python -m pip install -qq "$$package" || true; done < tests/systems/requirements.txt
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> $$($(ENGINES)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tools.pth
	touch $@

# Atheris beside the tools of $(VENV); where it cannot be installed, fuzzing goes on without it.
$(VENV)-fuzz/installed: $(VENV)/tools fuzz/requirements.txt
	$(BIN)/python -m venv $(VENV)-fuzz
	$(VENV)-fuzz/bin/python -m pip install -qq -r fuzz/requirements.txt || true
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> $$($(VENV)-fuzz/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tools.pth
	touch $@

# ---- everyday ----

demo: $(VENV)/installed ## generate data, compare rankers, write the report, print its path
	$(BIN)/python examples/demo.py

COVER = --hypothesis-profile=thorough --cov=rankwright --cov-config=$(CURDIR)/pyproject.toml --cov-report=html:$(CURDIR)/build/coverage-pages
test: $(VENV)/installed build/letor_fuzz ## build sdist -> wheel, install it, test it from another directory (COVERAGE=1)
	build/letor_fuzz fuzz/corpus/letor 5000
	mkdir -p build/elsewhere
	cd build/elsewhere && PYTHONSAFEPATH=1 $(BIN)/python -m pytest $(PYTEST) -n $(TESTERS) --dist worksteal \
		--durations=10 $(if $(COVERAGE),$(COVER)) \
		--ignore=$(CURDIR)/tests/peers --ignore=$(CURDIR)/tests/systems \
		$(CURDIR)/tests $(CURDIR)/README.md $(CURDIR)/docs --pyargs rankwright

test-systems: $(ENGINES)/installed ## what needs a browser, databases and runtimes; installs them where it may
	command -v chromium chromium-browser google-chrome > /dev/null || { [ $$(id -u) = 0 ] && command -v apt-get > /dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium > /dev/null; } || true
	command -v strace > /dev/null || { [ $$(id -u) = 0 ] && command -v apt-get > /dev/null \
		&& apt-get update -qq && apt-get install -y -qq --no-install-recommends strace > /dev/null; } || true
	mkdir -p build/elsewhere
	cd build/elsewhere && PYTHONSAFEPATH=1 $(CURDIR)/$(ENGINES)/bin/python -m pytest $(PYTEST) --durations=5 $(CURDIR)/tests/systems

test-peers: $(PEERS)/installed ## compare the metric presets with the real tools
	cd build && $(CURDIR)/$(PEERS)/bin/python -m pytest $(PYTEST) $(CURDIR)/tests/peers

soak: $(VENV)/installed ## kill -9, power cuts, forks and hostile streams, by the thousand (SOAK="kills --count 50")
	mkdir -p build/elsewhere
	cd build/elsewhere && PYTHONPATH=$(CURDIR) $(BIN)/python -m tests.soak $(SOAK)

test-environments: $(VENV)/installed ## the suite as another user, without SIGINT, assertions, UTF-8, a home, a plain path (SHORT=1)
	scripts/environments.sh $(if $(SHORT),short)

test-pythons: ## build the wheel and try it on every Python that is here
	scripts/pythons.sh

audit: $(VENV)/installed ## the oldest versions of the dependencies that are allowed, and known vulnerabilities
	scripts/audit.sh

sanitize: $(VENV)/installed ## the compiled code and its tests under gcc's sanitizers (SHORT=1: five minutes)
	scripts/sanitize.sh $(if $(SHORT),short)

check: $(VENV)/installed ## ruff, mypy, import-linter, clang-format, codespell, stubs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror cpp/*.hpp cpp/*.cpp fuzz/*.cpp tests/native/*.cpp
	$(BIN)/codespell src cpp tests docs benchmarks deploy examples fuzz/*.cpp *.md
	$(MAKE) --no-print-directory stubs STUB=build/_kernels.pyi
	diff -u src/rankwright/_kernels.pyi build/_kernels.pyi

format: $(VENV)/tools ## format Python and C++
	$(BIN)/ruff check --fix -q . || true
	$(BIN)/ruff format -q .
	$(BIN)/clang-format -i cpp/*.hpp cpp/*.cpp fuzz/*.cpp tests/native/*.cpp

STUB ?= src/rankwright/_kernels.pyi
stubs: $(VENV)/installed ## generate the stub of the compiled module
	mkdir -p build
	cd build && $(BIN)/python -m nanobind.stubgen -q -m rankwright._kernels -o $(CURDIR)/$(STUB)
	$(BIN)/ruff format -q $(STUB)

screenshot: demo ## take the README's picture of the report; needs Chromium
	$(BIN)/python docs/screenshot.py

docs: $(VENV)/installed ## build the documentation; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(PEERS)/installed ## measure against peers, write benchmarks/results and the README's table
	$(PEERS)/bin/python -m benchmarks all

SCALE ?= full
reproduce: $(VENV)/installed ## the papers' tables and figures (SCALE=quick|full, DATA=folder of public data sets)
	$(BIN)/rankwright reproduce all --scale $(SCALE) --out docs/papers/results $(if $(DATA),--data $(DATA))
	$(BIN)/python docs/reproduced.py

fuzz: $(VENV)-fuzz/installed ## coverage-guided inputs to every reader of files (TARGET=letor|model|..., N=1000000)
	scripts/fuzz.sh $(N) $(TARGET)

build/letor_fuzz: fuzz/letor_fuzz.cpp $(wildcard cpp/letor_*.hpp cpp/decimal*.hpp) cpp/hashing.hpp cpp/instruction_sets.hpp cpp/parallel.hpp
	mkdir -p build
	$(CXX) -std=c++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -Icpp $< -o $@ -pthread

golden: $(PEERS)/installed ## run the peers again and write tests/golden
	$(PEERS)/bin/python -m tests.peers.make_golden

clean: ## remove everything that was built
	rm -rf build dist docs/_build docs/api/generated $(VENV) $(VENV)-*
