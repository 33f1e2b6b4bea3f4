#!/usr/bin/env bash
# Runs tests with the race detector and prints their number, and those that failed and were skipped, at the end:
#   hack/test.sh [go test flags] packages
# With -short it runs the short tier, without it the full tier, and with COOPER_SOAK=1 the soak (internal/testing/fulltest).
# TESTFLAGS holds more flags.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Words as in a shell, of whose characters only quotes and the backslash mean anything: -run A|B is no pipe.
words=$(xargs -r printf '%s\n' <<<"${TESTFLAGS:-}")
flags=()
[ -z "$words" ] || mapfile -t flags <<<"$words"

# Everything but tests is compiled in one way, so that the programs of make up, of the images, of the tests and of this
# script share what is compiled.
export CGO_ENABLED=0 GOFLAGS=-trimpath
# This is silent, where go build would print a line for each module.
go mod download
go mod download -modfile=tools/gotestsum/go.mod

# The kube-apiserver that the tests need is downloaded or built first, so that this does not count for a test's deadline.
go run ./hack/controlplane
# So is Helm, which the charts are rendered with.
bash hack/helm.sh >/dev/null

# MinIO, versitygw and fake-gcs-server, if `go run ./hack/stores` has built them: without them the tests that compare
# with them are skipped.
stores=$(go run ./hack/stores --found)
set -a
eval "$stores"
set +a

# How a test binary is called. It builds programs, too, and starts API servers, which collect garbage for a fifth of
# their time unless they may use more memory. The race detector sleeps a second at each end: 110 of them.
tested='env CGO_ENABLED=0 GOFLAGS=-trimpath GOGC=300 GORACE=atexit_sleep_ms=0'
# Tests wait for an API server far more than they compute: more of them run at once than there are cores, and more
# packages, since each begins and ends with waiting. A package that takes longer than the timeout hangs.
at_once=$((2 * $(nproc)))
timeout=75m
[ -z "${COOPER_SOAK:-}" ] || timeout=12h
# gotestsum prints why a test was skipped. In the short tier, that is its tier for hundreds.
hide=none
[ "${1:-}" != -short ] || hide=skipped
# make verify vets.
exec go tool -modfile=tools/gotestsum/go.mod gotestsum --format=standard-quiet --hide-summary="$hide" --raw-command -- \
  env CGO_ENABLED=1 GOFLAGS= go test -json -race -vet=off -p "$at_once" -parallel "$at_once" -timeout "$timeout" -exec "$tested" "${flags[@]}" "$@"
