# The commands of the project. A bare machine with Go, make and git is enough;
# what the tests need besides, scripts/deps installs, saying so.
SHELL := /bin/bash
GO ?= go
FUZZTIME ?= 5s
MARGAY_DATA ?= $(if $(wildcard ../shared/data),$(abspath ../shared/data))
export MARGAY_DATA
TOOL := $(GO) tool -modfile=tools/go.mod

.PHONY: help demo test check check-rest format lint vet race fuzz generate bench e2e install build

help: ## Show the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## See four agents leak, and stop leaking (no network, nothing to install)
	@$(GO) run ./cmd/margay demo

test: ## Run the tests
	@scripts/deps
	$(GO) test ./...

build: ## Build bin/margay
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/margay ./cmd/margay

install: ## Install margay with go install
	CGO_ENABLED=0 $(GO) install ./cmd/margay

check: test check-rest ## All that CI runs but e2e and long fuzzing

check-rest: format vet lint race fuzz generate

format: ## Check the format (gofumpt)
	@out="$$($(TOOL) gofumpt -l $$(git ls-files '*.go'))"; if [ -n "$$out" ]; then echo "not formatted: $$out"; echo "hint: make fmt"; exit 1; fi

fmt: ## Format
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

vet:
	$(GO) vet ./...

lint: ## Lint (golangci-lint)
	$(TOOL) golangci-lint run ./...

race: ## Run the tests under the race detector
	$(GO) test -race ./...

fuzz: ## Fuzz every target for FUZZTIME (5s)
	@scripts/fuzz $(FUZZTIME)

generate: ## Check that generated files are up to date
	$(GO) generate ./...
	@git diff --exit-code || { echo "hint: commit what go generate changed"; exit 1; }

bench: ## Measure, and write docs/bench/*.json
	$(GO) run ./cmd/margay bench vectors --json docs/bench/vectors.json
	$(GO) run ./cmd/margay bench gateway --json docs/bench/gateway.json

e2e: ## Real clients through a running gateway
	@scripts/e2e
