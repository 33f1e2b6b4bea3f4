#!/usr/bin/env bash
# Writes docs/reference/api-changes.md: the changes for programs that import packages of Cooper since the commit that the page
# names, or from now on names:
#   hack/apidiff/run.sh [-since v0.1.0]
# Exits 77, which is neither good nor bad, where the history does not go back to it. Works on the checkout of the directory
# that it is called from.
set -euo pipefail
tool=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../tools/apidiff" && pwd)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -C "$tool" -o "$bin/apidiff" .
"$bin/apidiff" "$@"
