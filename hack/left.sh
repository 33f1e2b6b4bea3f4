#!/usr/bin/env bash
# Runs of a test binary what the short run has left (internal/fulltest), in the directory of its package: hack/left.sh <binary> <flags>
set -euo pipefail
# Each name becomes ^Test$/^subtest$.
names=$(awk -F '\t' -v "dir=$PWD" '$1 == dir {print $2}' "$COOPER_LEFT" | sort -u |
  sed -e 's/[][\\.*^$()+?{}|]/\\&/g' -e 's,/,$/^,g' -e 's/.*/^&$/' | paste -s -d '|')
exec "$@" -test.run="$names"
