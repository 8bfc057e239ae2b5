# `make demo` and `make test` set up everything they need in .venv; nothing else has to be installed.
PYTHON ?= python3
PIP := .venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: help demo test box site format lock fresh clean

help:  ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv/run: pyproject.toml constraints.txt
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	$(PIP) torch==2.13.0
	$(PIP) -e '.[plot]'
	touch $@

.venv/dev: .venv/run
	$(PIP) -e '.[dev]'
	touch $@

demo: .venv/run  ## train, evaluate, plot and parse on the embedded task
	.venv/bin/permparse demo

test: .venv/dev  ## check style and types, then run the tests
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --numprocesses 2 --dist loadfile

box: .venv/run  ## make the parser in the box again, in about two minutes
	rm -rf runs/box
	.venv/bin/permparse train fragment --output runs/box
	.venv/bin/python -c "from permparse import Parser; Parser.load('runs/box').save('src/permparse/models/fragment')"

site: .venv/dev  ## build the documentation site in build/site
	$(PIP) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

format: .venv/dev  ## rewrite the code in the project's style
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

lock: .venv/dev  ## write requirements.lock: what the service needs, pinned by constraints.txt, with checksums
	$(PIP) pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/pip-compile --quiet --extra serve --generate-hashes --allow-unsafe \
	  --strip-extras --no-emit-index-url --no-emit-find-links --no-annotate \
	  --constraint constraints.txt --output-file requirements.lock pyproject.toml

fresh:  ## forget compiled numba kernels, after editing one
	find src -name '*.nb[ic]' -delete

clean:  ## remove what the targets above made
	rm -rf .venv runs
