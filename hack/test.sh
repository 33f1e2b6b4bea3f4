#!/usr/bin/env bash
# Runs tests and prints their number, and those that failed and were skipped, at the end:
#   hack/test.sh [go test flags] packages
# With -short it runs the short tier, without it the full tier, and with COOPER_SOAK=1 the soak (internal/testing/fulltest).
# The soak uses the race detector, and the full tier does for some packages.
# TESTFLAGS holds more flags. Packages are patterns from the root: ./judges/clouds is a package of another module. A pattern
# such as ./... includes other modules (hack/modules.sh) in all tiers but the short one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Words as in a shell. Only quotes and the backslash are special characters: -run A|B is no pipe.
words=$(xargs -r printf '%s\n' <<<"${TESTFLAGS:-}")
flags=()
[ -z "$words" ] || mapfile -t flags <<<"$words"
short=
patterns=()
for argument; do
  case $argument in
    -short) short=1 && flags+=(-short) ;;
    -*) flags+=("$argument") ;;
    *) patterns+=("$argument") ;;
  esac
done
found=$(bash hack/modules.sh) # fails the script, which a process substitution would not
mapfile -t modules <<<"$found"

# patterns_of prints the patterns for the packages of a module, from its directory.
patterns_of() {
  local module=$1 pattern
  for pattern in "${patterns[@]}"; do
    case $pattern in
      "./$module" | "./$module/"*) echo ".${pattern#"./$module"}" ;;
      */...) [ -n "$short" ] || [[ "./$module/" != "${pattern%...}"* ]] || echo ./... ;;
    esac
  done
}

# of_root prints the patterns that name no other module.
of_root() {
  local pattern module
  for pattern in "${patterns[@]}"; do
    for module in "${modules[@]}"; do
      case $pattern in "./$module" | "./$module/"*) continue 2 ;; esac
    done
    echo "$pattern"
  done
}

# Everything but tests is compiled in one way, so that the programs of make up, of the images, of the tests and of this
# script share what is compiled.
export CGO_ENABLED=0 GOFLAGS=-trimpath
# This is silent, where go build would print a line for each module.
go mod download
go mod download -modfile=tools/gotestsum/go.mod
[ -n "$short" ] || for module in "${modules[@]}"; do go -C "$module" mod download; done

# The kube-apiserver that the tests need is downloaded or built first, so that this does not count for a test's deadline.
go run ./hack/controlplane
# So is Helm, which only the full tier renders the charts with.
[ -n "$short" ] || bash hack/helm.sh >/dev/null

# MinIO, versitygw and fake-gcs-server, if `go run ./hack/stores` has built them: without them the tests that compare
# with them are skipped.
stores=$(go run ./hack/stores --found)
set -a
eval "$stores"
set +a

# How a test binary is called. It builds programs, too, and starts API servers, which collect garbage for a fifth of
# their time unless they may use more memory. The race detector sleeps a second at each end: 110 of them.
tested='env -u GOMEMLIMIT CGO_ENABLED=0 GOFLAGS=-trimpath GOGC=300 GORACE=atexit_sleep_ms=0'
# Tests wait for an API server far more than they compute: more of them run at once than there are cores, and more
# packages, since each begins and ends with waiting. A package that takes longer than the timeout hangs.
at_once=$((2 * $(nproc)))
timeout=75m
[ -z "${COOPER_SOAK:-}" ] || timeout=12h
# gotestsum prints why a test was skipped. In the short tier, that is its tier for hundreds.
hide=none
[ -z "$short" ] || hide=skipped

# The directories whose packages the full tier runs with the race detector: those whose goroutines share state. On a slow
# machine, it takes about 17 minutes to compile all packages for it, and lifecycle half an hour to run.
raced=(controller fakes internal obc sidecar)
ls -d "${raced[@]}" >/dev/null # fails the script if a directory has another name now

# test_in tests packages of the module in a directory, with the race detector if $race is set. Without it, tests share what
# is compiled with make up. make verify vets. The linker takes a third of the time of the short tier, and up to an eighth
# of that to collect garbage unless it may keep it.
test_in() {
  local module=$1 compiled=(CGO_ENABLED=0 GOFLAGS=-trimpath)
  shift
  [ -z "$race" ] || compiled=(CGO_ENABLED=1 "GOFLAGS=-race -trimpath")
  env "${compiled[@]}" GOGC=off GOMEMLIMIT=2GiB go -C "$module" test -json -vet=off -p "$at_once" -parallel "$at_once" -timeout "$timeout" -exec "$tested" "${flags[@]}" "$@"
}

# test_root tests packages of the root, those with the race detector first.
test_root() {
  local packages package with=() without=() directory root in_raced status=0 race=
  root=$(go list -m)
  packages=$(go list "$@") || return 1
  in_raced="^($(IFS='|' && echo "${raced[*]}"))(/|$)"
  while read -r package; do
    directory=${package#"$root/"}
    if [ -n "${COOPER_SOAK:-}" ] || { [ -z "$short" ] && [[ $directory =~ $in_raced ]]; }; then with+=("$package"); else without+=("$package"); fi
  done <<<"$packages"
  [ "${#with[@]}" -eq 0 ] || race=1 test_in . "${with[@]}" || status=1
  [ "${#without[@]}" -eq 0 ] || test_in . "${without[@]}" || status=1
  return "$status"
}

# test_all tests packages of the root, and then of the other modules.
test_all() {
  local module status=0 these race=${COOPER_SOAK:-}
  trap 'exit 130' INT TERM # go test ends, and no other module begins
  mapfile -t these < <(of_root)
  [ "${#these[@]}" -eq 0 ] || test_root "${these[@]}" || status=1
  for module in "${modules[@]}"; do
    mapfile -t these < <(patterns_of "$module")
    [ "${#these[@]}" -eq 0 ] || test_in "$module" "${these[@]}" || status=1
  done
  return "$status"
}
test_all | go tool -modfile=tools/gotestsum/go.mod gotestsum --format=standard-quiet --hide-summary="$hide" --raw-command -- cat
