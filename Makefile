# All tasks of a developer. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# All builds and tests use the same flags, so that they share one cache and nothing is compiled twice. Two of them save
# time (decision 20): there is no debug information, and compilers collect no garbage below a limit.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false -gcflags=all=-dwarf=false '-toolexec=env GOGC=off GOMEMLIMIT=2GiB'

BIN := bin
BUILD := go build
DEV := $(BIN)/dev
MODULES := . hack/cluster hack/containerd hack/coredns hack/dev hack/release hack/store hack/tools hack/tools/crds hack/tools/helm hack/tools/helmdocs hack/tools/lint hack/tools/prometheus hack/tools/vuln test/signin test/sigstore

##@ Help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*## / {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Local cluster, or a further one by CLUSTER=two (see hack/dev/README.md)

# A further cluster: `make up CLUSTER=two` has its data in .dev-two. A variable of the shell does not count.
CLUSTER :=
OF_CLUSTER := $(if $(CLUSTER),--cluster $(CLUSTER))

.PHONY: $(DEV)
$(DEV):
	@$(BUILD) -C hack/dev -o ../../$(DEV) .

.PHONY: dev
dev: $(DEV) ## Run a cluster with Postflight in the foreground; Ctrl-C stops it
	@exec $(DEV) run $(OF_CLUSTER)

.PHONY: up
up: $(DEV) ## Run it in the background, or bring a running one up to date
	@$(DEV) up $(OF_CLUSTER)

.PHONY: down
down: $(DEV) ## Stop what `make up` started; keep its data
	@$(DEV) down $(OF_CLUSTER)

.PHONY: status
status: $(DEV) ## Show what is running
	@$(DEV) status $(OF_CLUSTER) || [ $$? -eq 3 ] # 3: not ready, as it has printed

.PHONY: clean-dev
clean-dev: $(DEV) ## Stop the cluster and remove its data (but not the binaries)
	@$(DEV) down --leave-hub $(OF_CLUSTER)
	@rm -rf .dev$(CLUSTER:%=-%)

.PHONY: assets
assets: $(DEV) ## Build the control plane and the object store, which tests need
	@$(DEV) assets

.PHONY: helm
helm: $(BIN)/helm ## Build helm, to install the chart and to test it

.PHONY: peers
peers: ## Build programs of other projects that test/peers runs (a quarter of an hour the first time)
	@hack/peers.sh rollouts-controller cosign opa kyverno kueue

.PHONY: image
image: $(DEV) ## Build the images (no registry, no Docker) and load them into the node
	@$(DEV) image $(OF_CLUSTER)

.PHONY: deploy
deploy: $(DEV) ## Run the manager as pods, from config/default and the image
	@$(DEV) deploy $(OF_CLUSTER)

.PHONY: undeploy
undeploy: $(DEV) ## Run the manager as a process again
	@$(DEV) undeploy $(OF_CLUSTER)

##@ Tests

# When make was started: building counts.
export BEGAN := $(shell date +%s)

.PHONY: test
test: ## Run the gate: verify, unit tests, tests on a real API server, and a dozen on real pods (8 minutes; 20 the first time)
	@$(MAKE) -s $(BIN)/gotestsum manager $(BIN)/servers
	@$(MAKE) -s -j 2 assets $(DEV) $(VERIFIERS)
	@$(BIN)/servers hack/test.sh

PARTS ?=

.PHONY: test-all
test-all: ## Run all tests, or PARTS="chart release": also floods, outages, chaos, memory, a release, and figures (docs/development.md)
	@$(MAKE) -s $(BIN)/gotestsum manager $(BIN)/servers
	@hack/test-all.sh $(PARTS)

.PHONY: unit
unit: $(BIN)/gotestsum ## Run the short tests of internal and client, of which few need a server
	@$(BIN)/gotestsum --format pkgname --format-hide-empty-pkg -- -short ./internal/... ./client/...

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (10s)
	@hack/fuzz.sh $${FUZZTIME:-10s}

.PHONY: install-check
install-check: assets manager $(BIN)/helm ## Install every flavour on a cluster, and run a test through it (four minutes)
	@POSTFLIGHT_E2E_FULL=1 go test -count=1 -v -timeout 20m ./test/e2e -run '^TestInstall$$'

FIGURES ?= .

.PHONY: bench
bench: assets manager $(BIN)/figures ## Run the benchmarks, or FIGURES=controllers/suite; each prints a line NAME key=value ...
	@$(BIN)/figures run --figures '$(FIGURES)'

.PHONY: bench-compare
bench-compare: assets manager $(BIN)/figures ## Compare the figures with those of the commit BASE, or FIGURES=controllers/suite of them
	@$(BIN)/figures compare --base '$(or $(BASE),$(error set BASE, such as BASE=HEAD~1))' --figures '$(FIGURES)'

.PHONY: $(BIN)/figures
$(BIN)/figures:
	@$(BUILD) -o $(BIN)/ ./hack/figures

.PHONY: bench-kueue
bench-kueue: assets manager ## Play the benchmark of Kueue's scheduler by Postflight and by Kueue, which it builds (a quarter of an hour)
	@hack/peers.sh minimalkueue minimalkueue-unthrottled kueue-runner
	@go test ./test/peers -run '^$$' -bench 'KueueScenario$$' -benchtime 1x -timeout 0

.PHONY: bench-tekton
bench-tekton: assets manager ## Start 1,000 runs by Postflight and by Tekton, which it builds (minutes the first time)
	@hack/peers.sh tekton-controller
	@go test ./test/peers -run '^$$' -bench 'Tekton$$' -benchtime 1x -timeout 0

.PHONY: chaos
chaos: assets manager ## Inject faults for DURATION (10m), by SEED, while clients notify; then check what they saw
	@POSTFLIGHT_CHAOS_DURATION=$${DURATION:-10m} POSTFLIGHT_CHAOS_SEED=$${SEED:-} POSTFLIGHT_CHAOS_FAULT=$${FAULT:-} \
	  go test ./test/replicas -run 'TestChaos$$' -count=1 -v -timeout 0

.PHONY: soak
soak: assets manager ## Run RATE (1000) notifications a minute for DURATION (1h); memory, latency and objects must not grow
	@POSTFLIGHT_SOAK_DURATION=$${DURATION:-1h} POSTFLIGHT_SOAK_RATE=$${RATE:-1000} \
	  go test ./test/replicas -run 'TestSoak$$' -count=1 -v -timeout 0

.PHONY: scale
scale: assets manager ## Find where one leader ends: TEAMS, SUITES, live PAGES, and RATE notifications a second for DURATION
	@POSTFLIGHT_SCALE_TEAMS=$${TEAMS:-10000} POSTFLIGHT_SCALE_SUITES=$${SUITES:-100000} POSTFLIGHT_SCALE_PAGES=$${PAGES:-1000} \
	  POSTFLIGHT_SCALE_RATE=$${RATE:-50} POSTFLIGHT_SCALE_DURATION=$${DURATION:-10m} \
	  go test ./test/replicas -run 'TestScale$$' -count=1 -v -timeout 0

##@ Release (see docs/operations/release.md)

IMAGE ?= ghcr.io/postflight-dev/postflight
FIPS140 ?= off

.PHONY: release
release: $(BIN)/release ## Build VERSION, such as v1.2.3, for all platforms into dist/release
	@$(BIN)/release build --image $(IMAGE) --fips140 $(FIPS140) $(or $(VERSION),$(error set VERSION, such as VERSION=v1.2.3))

.PHONY: $(BIN)/servers
$(BIN)/servers:
	@$(BUILD) -o $(BIN)/ ./test/servers

.PHONY: $(BIN)/release
$(BIN)/release:
	@$(BUILD) -C hack/release -o ../../$@ .

.PHONY: release-check
release-check: assets $(BIN)/helm ## Build a release twice, apart, for all platforms, compare, and install one (an hour)
	@go test -C hack/release -count=1 -v -timeout 120m . -full

##@ Docs

.PHONY: docs
docs: hack/docs/node_modules/.package-lock.json ## Build the documentation site in dist/docs; a broken link fails
	@npm --prefix hack/docs run --silent build

hack/docs/node_modules/.package-lock.json: hack/docs/package-lock.json # npm writes it last
	@npm --prefix hack/docs ci --silent
	@touch $@

##@ Code

.PHONY: manager
manager: ## Build bin/manager, bin/postflight and bin/collect
	@$(BUILD) -o $(BIN)/ ./cmd/manager ./cmd/postflight
	@$(BUILD) -ldflags="-s -w" -o $(BIN)/ ./cmd/collect # every node of a cluster pulls it

.PHONY: generate
generate: manager $(BIN)/controller-gen $(BIN)/helm-docs ## Regenerate deep copies, CRDs, RBAC, what the chart has of them, and docs/reference
	@hack/generate.sh . all

VERIFIERS := $(BIN)/controller-gen $(BIN)/golangci-lint $(BIN)/shellcheck

.PHONY: verify
verify: manager $(VERIFIERS) ## Check generated files, modules, scripts, lint and import rules
	@hack/verify.sh

.PHONY: verify-all
verify-all: manager $(VERIFIERS) $(BIN)/helm-docs ## Check the modules of tools and of long tests, too
	@hack/verify.sh all

# It needs the database at vuln.go.dev, or another by VULNDB=https://... or file:///...
.PHONY: vulncheck
vulncheck: $(BIN)/govulncheck ## Check what the code calls for known vulnerabilities (online)
	@$(BIN)/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...

.PHONY: tidy
tidy: ## Tidy every module
	@for mod in $(MODULES); do (echo $$mod; cd $$mod && go mod tidy); done

# Tools are pinned in modules of their own, so that a fresh machine needs only Go.
$(BIN)/controller-gen: hack/tools/go.mod
	@echo "==> building controller-gen"
	@$(BUILD) -C hack/tools -o ../../$@ sigs.k8s.io/controller-tools/cmd/controller-gen
$(BIN)/gotestsum: hack/tools/go.mod
	@echo "==> building gotestsum"
	@$(BUILD) -C hack/tools -o ../../$@ gotest.tools/gotestsum
$(BIN)/helm-docs: hack/tools/helmdocs/go.mod
	@echo "==> building helm-docs"
	@$(BUILD) -C hack/tools/helmdocs -o ../../../$@ github.com/norwoodj/helm-docs/cmd/helm-docs
$(BIN)/helm: hack/tools/helm/go.mod
	@echo "==> building helm (three minutes the first time)"
	@$(BUILD) -C hack/tools/helm -o ../../../$@ helm.sh/helm/v4/cmd/helm
# Without service discoveries, which would be most of it.
$(BIN)/prometheus $(BIN)/promtool &: hack/tools/prometheus/go.mod
	@echo "==> building prometheus and promtool (three minutes the first time)"
	@$(BUILD) -C hack/tools/prometheus -tags remove_all_sd -o ../../../$(BIN)/ \
	  github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
$(BIN)/shellcheck:
	@hack/shellcheck.sh
$(BIN)/govulncheck: hack/tools/vuln/go.mod
	@echo "==> building govulncheck"
	@$(BUILD) -C hack/tools/vuln -o ../../../$@ golang.org/x/vuln/cmd/govulncheck
$(BIN)/golangci-lint: hack/tools/lint/go.mod
	@echo "==> building golangci-lint (two minutes the first time)"
	@$(BUILD) -C hack/tools/lint -o ../../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
