# The commands of the project. A bare machine with Go, make and git is enough;
# what some tests need besides, scripts/deps installs, when asked.
SHELL := /bin/bash
GO ?= go
FUZZTIME ?= 5s
MARGAY_DATA ?= $(if $(wildcard ../shared/data),$(abspath ../shared/data))
export MARGAY_DATA
TOOL := $(GO) tool -modfile=tools/go.mod

# What has tests in the module of the end-to-end clients; they need no client.
E2E_TESTED = $$($(GO) list -e -f '{{if .TestGoFiles}}{{.ImportPath}}{{end}}' ./...)
LAB = bin/margay-lab
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64

.PHONY: help demo test check check-rest claims format fmt lint vet vuln cross race fuzz generate bench bench-quick browser e2e install build

help: ## Show the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## See four agents leak, and stop leaking (no network, nothing to install)
	@$(GO) run -C lab ./cmd/demo

# Quick from nothing: vet is a target of its own, and what only debuggers read
# is not linked.
TEST = $(GO) test -vet=off -ldflags=-w

test: ## Run the tests (installs nothing: scripts/deps does, when asked)
	$(TEST) ./...
	cd lab && $(TEST) ./...
	cd e2e && $(TEST) $(E2E_TESTED)
	cd tools && $(TEST) ./...

build: ## Build bin/margay
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags=-s -o bin/margay ./cmd/margay

$(LAB): .FORCE
	cd lab && CGO_ENABLED=0 $(GO) build -trimpath -o ../$(LAB) ./cmd/margay-lab
.FORCE:

install: ## Install margay with go install
	CGO_ENABLED=0 $(GO) install ./cmd/margay

check: test check-rest ## All that CI runs but e2e and long fuzzing

check-rest: format vet lint claims vuln cross race fuzz generate bench-quick

claims: ## Run the tests that README, SECURITY and docs name for what they claim
	@scripts/claims --run -- -vet=off -ldflags=-w

format: ## Check the format (gofumpt)
	@out="$$($(TOOL) gofumpt -l $$(git ls-files '*.go'))"; if [ -n "$$out" ]; then echo "not formatted: $$out"; echo "hint: make fmt"; exit 1; fi

fmt: ## Format
	$(TOOL) gofumpt -w $$(git ls-files '*.go')

vet:
	$(GO) vet ./...
	cd lab && $(GO) vet ./...
	cd e2e && $(GO) vet $(E2E_TESTED)
	cd tools && $(GO) vet ./...

lint: ## Lint (golangci-lint)
	$(TOOL) golangci-lint run ./...
	cd lab && $(GO) tool -modfile=../tools/go.mod golangci-lint run -c ../.golangci.yml ./...
	cd e2e && $(GO) tool -modfile=../tools/go.mod golangci-lint run -c ../.golangci.yml ./...
	cd tools && $(GO) tool golangci-lint run -c ../.golangci.yml ./...

vuln: ## Look for known vulnerabilities in what is called (govulncheck)
	@scripts/vuln

cross: ## Build for the other platforms, without running
	@set -e; for p in $(PLATFORMS); do echo "build for $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -ldflags=-w ./...; (cd lab && GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -ldflags=-w ./...); done

# -short: a fifth of each property's cases, and nothing that does one thing after
# the other for long; test runs all of it.
race: ## Run the tests under the race detector
	$(TEST) -race -short ./...
	cd lab && $(TEST) -race -short ./...
	cd e2e && $(TEST) -race -short $(E2E_TESTED)

fuzz: ## Fuzz every target for FUZZTIME (5s)
	@scripts/fuzz $(FUZZTIME)

generate: ## Check that generated files are up to date
	$(GO) generate ./...
	cd lab && $(GO) generate ./...
	@git diff --exit-code || { echo "hint: commit what go generate changed"; exit 1; }

bench: $(LAB) build ## Measure, and write docs/bench and the pages that cite it
	$(LAB) vectors --json docs/bench/vectors.json
	$(LAB) gateway --json docs/bench/gateway.json
	$(LAB) engine --json docs/bench/engine.json
	$(LAB) prism --json docs/bench/prism.json
	$(LAB) mcp --json docs/bench/mcp.json
	$(LAB) ledger --json docs/bench/ledger.json
	$(LAB) dojo --json docs/bench/dojo.json
	$(LAB) dojo --packs none --defence all,replay --json docs/bench/dojo-none.json
	$(LAB) replay coding-dev.jsonl.gz --labels coding --json docs/bench/replay.json
	$(LAB) replay coding-dev.jsonl.gz --labels coding --once --defence replay --json docs/bench/replay-once.json
	$(LAB) replay toolemu-dev.jsonl.gz --packs none --labels toolemu --json docs/bench/replay-toolemu.json
	$(LAB) adaptive --seed 1 --json docs/bench/adaptive.json
	$(LAB) leakage --json docs/bench/leakage.json
	$(LAB) traj --json docs/bench/traj.json
	$(LAB) robust --n 12 --json docs/bench/robust.json
	$(LAB) leak --json docs/bench/leak.json
	$(LAB) confaide --json docs/bench/confaide.json
	cd lab && $(GO) generate ./internal/app

bench-quick: ## Run every benchmark small, to see that it works
	$(GO) run -C lab ./cmd/margay-lab all --quick

browser: ## The console in a real Chromium
	@scripts/e2e-console

e2e: ## Real clients, agents and AgentDojo's environments through a running gateway
	@scripts/e2e
	@scripts/e2e-agents
	@scripts/agentdojo check
