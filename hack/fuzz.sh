#!/usr/bin/env bash
# Runs every fuzz target of the repository for a while, one after the other:
# hack/fuzz.sh [time for each, 60s by default] [regular expression of targets]
# What a target finds is in testdata/fuzz of its package: keep it there with the
# repair, as a seed that `make test` tries from then on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
each=${1:-60s} only=${2:-.}

# The workers of a target are killed in the end: what they left is removed here.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

failed=()
count=0
while IFS=: read -r file target; do
  [[ "$file $target" =~ $only ]] || continue
  package=./$(dirname "$file")
  echo "--- $target in $package for $each"
  count=$((count + 1))
  go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$each" -fuzzminimizetime 5s -parallel "${FUZZ_PARALLEL:-$(nproc)}" || failed+=("$target in $package")
done < <(git grep -o -E '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | sed 's/:func /:/')

[ "$count" -gt 0 ] || { echo "no fuzz target matches $only"; exit 1; }
echo "$count targets, ${#failed[@]} with finds"
[ "${#failed[@]}" -eq 0 ] || { printf 'FAIL %s\n' "${failed[@]}"; exit 1; }
