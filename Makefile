# Everything a developer does here starts with make. `make` alone lists the targets.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

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
	@CGO_ENABLED=0 go build -C hack/dev -trimpath -buildvcs=false -o ../../$(DEV) .

.PHONY: dev
dev: $(DEV) ## Run cluster, store and manager in the foreground; Ctrl-C stops all of it
	@exec $(DEV) run

.PHONY: up
up: $(DEV) ## The same in the background; again: bring what runs up to date
	@$(DEV) up

.PHONY: down
down: $(DEV) ## Stop what `make up` started; its data stay
	@$(DEV) down

.PHONY: status
status: $(DEV) ## Show what runs
	@$(DEV) status

.PHONY: clean-dev
clean-dev: down ## Stop the cluster and remove its data (not the built binaries)
	@rm -rf .dev

.PHONY: assets
assets: $(DEV) ## Build only the control plane and the object store, for integration tests
	@$(DEV) assets

.PHONY: image
image: $(DEV) ## Build the images without registry or Docker and load them into the node
	@$(DEV) image

.PHONY: deploy
deploy: $(DEV) ## Run the manager in the cluster, from config/default and the image
	@$(DEV) deploy

.PHONY: undeploy
undeploy: $(DEV) ## Run the manager as a process again
	@$(DEV) undeploy
