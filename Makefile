# Everything a developer does here starts with make. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

export CGO_ENABLED := 0
BUILD := go build -trimpath -buildvcs=false
DEV := bin/dev

##@ Help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
	  /^[a-zA-Z0-9_-]+:.*## / {printf "  \033[36m%-16s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Local cluster (see hack/dev/README.md)

.PHONY: $(DEV)
$(DEV):
	@go build -C hack/dev -trimpath -buildvcs=false -o ../../$(DEV) .

.PHONY: assets
assets: $(DEV) ## Build only the control plane and the object store, for integration tests
	@$(DEV) assets

