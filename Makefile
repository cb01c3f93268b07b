# The commands of the project. A bare machine with Go, make and git is enough;
# what the tests need besides, scripts/deps installs, saying so.
SHELL := /bin/bash
GO ?= go
FUZZTIME ?= 5s
MARGAY_DATA ?= $(if $(wildcard ../shared/data),$(abspath ../shared/data))
export MARGAY_DATA
TOOL := $(GO) tool -modfile=tools/go.mod

# What has tests in the module of the end-to-end clients; they need no client.
E2E_TESTED = $$($(GO) list -e -f '{{if .TestGoFiles}}{{.ImportPath}}{{end}}' ./...)
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64

.PHONY: help demo test check check-rest format fmt lint vet cross race fuzz generate bench bench-quick browser e2e install build

help: ## Show the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## See four agents leak, and stop leaking (no network, nothing to install)
	@$(GO) run ./cmd/margay demo

test: ## Run the tests
	@scripts/deps
	$(GO) test ./...
	cd e2e && $(GO) test $(E2E_TESTED)

build: ## Build bin/margay
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/margay ./cmd/margay

install: ## Install margay with go install
	CGO_ENABLED=0 $(GO) install ./cmd/margay

check: test check-rest ## All that CI runs but e2e and long fuzzing

check-rest: format vet lint cross race fuzz generate bench-quick

format: ## Check the format (gofumpt)
	@out="$$($(TOOL) gofumpt -l $$(git ls-files '*.go'))"; if [ -n "$$out" ]; then echo "not formatted: $$out"; echo "hint: make fmt"; exit 1; fi

fmt: ## Format
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

vet:
	$(GO) vet ./...
	cd e2e && $(GO) vet $(E2E_TESTED)

lint: ## Lint (golangci-lint)
	$(TOOL) golangci-lint run ./...
	cd e2e && $(GO) tool -modfile=../tools/go.mod golangci-lint run -c ../.golangci.yml ./...

cross: ## Build for the other platforms, without running
	@set -e; for p in $(PLATFORMS); do echo "build for $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build ./...; done

# -short: a fifth of each property's cases, and nothing that does one thing after
# the other for long; test runs all of it.
race: ## Run the tests under the race detector
	$(GO) test -race -short ./...
	cd e2e && $(GO) test -race -short $(E2E_TESTED)

fuzz: ## Fuzz every target for FUZZTIME (5s)
	@scripts/fuzz $(FUZZTIME)

generate: ## Check that generated files are up to date
	$(GO) generate ./...
	@git diff --exit-code || { echo "hint: commit what go generate changed"; exit 1; }

bench: build ## Measure, and write docs/bench and the pages that cite it
	bin/margay bench vectors --json docs/bench/vectors.json
	bin/margay bench gateway --json docs/bench/gateway.json
	bin/margay bench prism --json docs/bench/prism.json
	bin/margay bench mcp --json docs/bench/mcp.json
	bin/margay bench ledger --json docs/bench/ledger.json
	bin/margay bench dojo --json docs/bench/dojo.json
	bin/margay bench leakage --json docs/bench/leakage.json
	bin/margay bench traj --json docs/bench/traj.json
	bin/margay bench robust --n 12 --json docs/bench/robust.json
	bin/margay bench leak --json docs/bench/leak.json
	bin/margay bench confaide --json docs/bench/confaide.json
	$(GO) generate ./internal/app

bench-quick: ## Run every benchmark small, to see that it works
	$(GO) run ./cmd/margay bench all --quick

browser: ## The console in a real Chromium
	@scripts/e2e-console

e2e: ## Real clients and AgentDojo's environments through a running gateway
	@scripts/e2e
	@scripts/agentdojo check
