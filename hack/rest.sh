#!/usr/bin/env bash
# Runs what the short run has left (internal/fulltest), by the test binaries that hack/keep.sh has kept, and prints what
# go test -json would:
#   hack/rest.sh <packages and tests at once> <timeout> <directory of a package>...
set -euo pipefail
export at_once=$1 timeout=$2 root=$PWD
hack=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=$(go list -m)
export hack module
shift 2

rest() { # rest <directory>: of one package, in one piece
  local out status=0
  out=$(mktemp)
  cd "$1"
  go tool test2json -t -p "$module${1#"$root"}" "$hack/left.sh" "$COOPER_LEFT.d/${1//\//+}" -test.paniconexit0 \
    -test.v=test2json -test.parallel="$at_once" -test.timeout="$timeout" >"$out" || status=$?
  flock "$COOPER_LEFT" cat "$out"
  rm "$out"
  return "$status"
}
export -f rest
printf '%s\0' "$@" | xargs -0 -n 1 -P "$at_once" bash -euo pipefail -c 'rest "$1"' -
