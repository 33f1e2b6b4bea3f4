#!/usr/bin/env bash
# Runs golangci-lint of the version in tools/golangci-lint, built from source.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "${1:-}" != --version ] || exec go tool -modfile=tools/golangci-lint/go.mod golangci-lint --version
found=$(bash hack/modules.sh) # fails the script, which a process substitution would not
mapfile -t modules <<<"$found"
root=$PWD status=0
for module in . "${modules[@]}"; do
  (cd "$module" && go tool -modfile="$root/tools/golangci-lint/go.mod" golangci-lint run --config="$root/.golangci.yml" --allow-parallel-runners "$@" ./...) || status=1
done
exit "$status"
