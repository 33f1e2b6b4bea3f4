#!/usr/bin/env bash
# Runs a test binary and keeps it for the rest of the full run, which need not link it again: go test -exec hack/keep.sh
set -euo pipefail
kept=$COOPER_LEFT.d/${PWD//\//+}
ln "$1" "$kept" 2>/dev/null || cp "$1" "$kept"
exec "$@"
