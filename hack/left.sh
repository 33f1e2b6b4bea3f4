#!/usr/bin/env bash
# Runs of a test binary what the short run has left to the full one (internal/fulltest): go test -exec hack/left.sh
set -euo pipefail
# Each name becomes ^Test$/^subtest$.
names=$(awk -F '\t' -v "dir=$PWD" '$1 == dir {print $2}' "$COOPER_LEFT" | sort -u |
  sed -e 's/[][\\.*^$()+?{}|]/\\&/g' -e 's,/,$/^,g' -e 's/.*/^&$/' | paste -s -d '|')
exec "$@" -test.run="$names"
