#!/usr/bin/env bash
# Runs the tests with totals at the end: hack/test.sh [go test flags] packages
# The kube-apiserver that the tests need is built first, so that no test's
# deadline has to hold the minutes of that build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

go run ./hack/controlplane

# MinIO, versitygw and fake-gcs-server, if `go run ./hack/stores` has built them: without them the
# tests that compare with them are skipped.
stores=$(go run ./hack/stores --found)
set -a
eval "$stores"
set +a

# A package that takes longer than the timeout hangs. Tests wait for an API
# server far more than they compute: twice as many of them run at once as a
# small machine has cores.
exec go run ./hack/testtotals \
  --part lifecycle=lifecycle,controller,sidecar,testenv/system \
  --part conformance=sanity,drivers \
  --part containers=testenv/containers,e2e \
  --show TestCompose,TestComposeReal,TestNothingIsLeftAfterAPanic,TestASystemInContainers \
  -- -p 2 -parallel 4 -timeout 20m "$@"
