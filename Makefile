# Cooper's Makefile. Every target is described by the comment behind its name;
# what takes more than a line is a script or a small Go program in hack/.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Arguments that a user may give: make test PACKAGES=./sidecar/... TESTFLAGS='-run Secret|Claim'
# What takes longest begins first.
PACKAGES ?= ./lifecycle/... ./docs/... ./drivers/... ./sidecar ./controller ./testenv/... ./cmd/... ./sanity/... ./fakes/... ./...
TESTFLAGS ?=
TIER ?= short
export TESTFLAGS
CLOUDS ?= s3
ARGS ?=
VERSION ?=
FAKESARGS ?=
FUZZTIME ?= 60s
FUZZ ?= .

# Everything but tests is compiled in one way: what was compiled for one target is there for the others.
export CGO_ENABLED := 0
export GOFLAGS ?= -trimpath

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-13s %s\n", $$1, $$2}' Makefile

# With the SDK of one cloud, cooper is built sooner.
TAGS := $(if $(filter all,$(CLOUDS)),,s3only)

.PHONY: up
up: ## run the whole system on this machine until Ctrl-C (CLOUDS=all runs Azure and Google Cloud beside S3, ARGS= goes to cooper up)
	@go run ./hack/controlplane -cooper bin/cooper -tags "$(TAGS)"
	@exec bin/cooper up $(ARGS)

.PHONY: bin/cooper
bin/cooper:
	@go run ./hack/controlplane -cooper $@ -tags "$(TAGS)"

.PHONY: bin/kubectl-cosi
bin/kubectl-cosi:
	@go build -o $@ ./cmd/kubectl-cosi

.PHONY: bin/helm
bin/helm:
	@mkdir -p bin && ln -sf "$$(bash hack/helm.sh)" $@

.PHONY: test
test: ## run the short tier of the tests of every package (PACKAGES=./sidecar/... TESTFLAGS='-run Secret|Claim' TIER=full)
	@bash hack/test.sh $(if $(filter short,$(TIER)),-short) $(PACKAGES)

.PHONY: test-full
test-full: ## run the full tier, as CI does: all tests but those of the soak (PACKAGES=, TESTFLAGS=)
	@bash hack/test.sh $(PACKAGES)

.PHONY: verify
verify: ## check that generated files are current, then vet, lint, prose, go mod tidy, licences and known vulnerabilities
	@bash hack/verify.sh

.PHONY: lint
lint: ## run golangci-lint (ARGS=--fix repairs what it can)
	@bash hack/lint.sh $(ARGS)

.PHONY: generate
generate: ## write generated files again, except the pages that long tests write (CONTRIBUTING.md lists those)
	@go generate ./...

.PHONY: site
site: ## make a site of the documentation in dist/site, which can be searched without a network
	@bash hack/site.sh

.PHONY: images
images: ## build the container images from scratch, without a registry (ARGS=-tag=...)
	@go run ./hack/images $(ARGS)

.PHONY: store-images
store-images: ## build images of MinIO, versitygw, fake-gcs-server and Azurite, without a registry (ARGS=-only=...)
	@go run ./hack/images -stores $(ARGS)

.PHONY: release
release: ## make the files of a release from the commit that is checked out, below dist/ (VERSION=v0.1.0)
	@umask 022; go run ./hack/release -version '$(VERSION)'

.PHONY: node
node: ## run a Kubernetes cluster with one node on this machine until Ctrl-C, with the images of Cooper (as root; ARGS= goes to e2e/cmd/node)
	@go run ./hack/images -archives dist/node-images -client >/dev/null
	@go -C e2e build -o ../bin/node ./cmd/node
	@exec bin/node -images dist/node-images $(ARGS)

.PHONY: e2e-node
e2e-node: ## install, use, break and repair Cooper on a node of this machine (as root; TESTFLAGS='-run Smoke')
	@COOPER_SOAK=1 COOPER_REQUIRE_NODE=1 go -C e2e test ./cluster -count=1 -timeout 1h -v $(TESTFLAGS)

.PHONY: e2e-cluster
e2e-cluster: ## the same on a cluster of yours, which can pull COOPER_REPOSITORY (KUBECONFIG=..., TESTFLAGS=)
	$(if $(filter command line,$(origin KUBECONFIG)),,$(error which cluster? Cooper is installed and removed there, so the kubeconfig of the shell is not used: make e2e-cluster KUBECONFIG=...))
	@COOPER_SOAK=1 COOPER_CLUSTER_KUBECONFIG="$(KUBECONFIG)" go -C e2e test ./cluster -count=1 -timeout 1h -v $(TESTFLAGS)

.PHONY: soak
soak: ## run everything, for hours: all tests with whole matrices and long random runs (COOPER_LIFECYCLE_STEPS=), then all seeded defects (PACKAGES=, TESTFLAGS=)
	@go run ./hack/stores >/dev/null
	@go run ./hack/stores -only weed >/dev/null
	@COOPER_SOAK=1 bash hack/test.sh $(PACKAGES)
	@go run ./hack/mutations

.PHONY: fuzz
fuzz: ## fuzz every target for a while (FUZZTIME=60s each, FUZZ= a regular expression of files and targets)
	@bash hack/fuzz.sh $(FUZZTIME) '$(FUZZ)'

.PHONY: bench
bench: ## measure pairs of claim and access (ARGS=-bursts=200,1000: bench/README.md), the drivers on the fakes, then the fakes beside MinIO, versitygw, Azurite and fake-gcs-server (FAKESARGS=--keys=1000)
	@go run ./bench $(ARGS)
	@go run ./bench -clouds=S3,Azure,GCS -bursts=200
	@go test ./bench/drivers -run='^$$' -bench=. -benchtime=200x
	@go -C judges run ./bench $(FAKESARGS)
