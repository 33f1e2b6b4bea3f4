#!/usr/bin/env bash
# Runs golangci-lint of the version in tools/golangci-lint, built from source.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "${1:-}" != --version ] || exec go tool -modfile=tools/golangci-lint/go.mod golangci-lint --version
exec go tool -modfile=tools/golangci-lint/go.mod golangci-lint run --allow-parallel-runners "$@" ./...
