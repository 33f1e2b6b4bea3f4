#!/usr/bin/env bash
# Runs tests with the race detector and with totals at the end:
#   hack/test.sh [go test flags] packages
# This is the short run; COOPER_FULL=1 makes it the full one. With COOPER_FULL=rest it runs, of all packages, what the
# short run has left: that one must have had the same COOPER_SEED, the file named by COOPER_LEFT to list it in, and a
# directory of that name and .d, where it has kept the test binaries; after COOPER_UNTIL, in seconds since 1970, no
# test of it that asks what to do begins.
# TESTFLAGS holds more flags. COOPER_SEED draws the samples; without it the day is the seed, which is printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Words as in a shell, of whose characters only quotes and the backslash mean anything: -run A|B is no pipe.
words=$(xargs -r printf '%s\n' <<<"${TESTFLAGS:-}")
flags=()
[ -z "$words" ] || mapfile -t flags <<<"$words"

if [ -z "${COOPER_SEED:-}" ] && [ "${COOPER_FULL:-}" != rest ]; then
  COOPER_SEED=$(date +%Y%m%d) # another one each run would draw other samples and leave go test nothing to cache
  export COOPER_SEED
  echo "COOPER_SEED=$COOPER_SEED"
fi

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
tested=(env CGO_ENABLED=0 GOFLAGS=-trimpath GOGC=300 GORACE=atexit_sleep_ms=0)
# Tests wait for an API server far more than they compute: more of them run at once than there are cores, and more
# packages, since each begins and ends with waiting. A package that takes longer than the timeout hangs.
at_once=$((2 * $(nproc)))
timeout=75m
if [ "${COOPER_FULL:-}" = rest ]; then
  # In the order of the short run, in which what takes longest begins first; of what is left, that is the pages.
  mapfile -t dirs < <({ sed -n "s|^\($PWD/docs\)\t.*|\1|p" "$COOPER_LEFT"; cut -f 1 "$COOPER_LEFT"; } | awk '!seen[$0]++')
  [ "${#dirs[@]}" -gt 0 ] || { echo '0 passed, 0 failed, 0 skipped'; exit; }
  run=("${tested[@]}" bash hack/rest.sh "$at_once" "$timeout" "${dirs[@]}")
else
  [ -z "${COOPER_LEFT:-}" ] || tested+=("$PWD/hack/keep.sh")
  # make verify vets.
  run=(env CGO_ENABLED=1 GOFLAGS= go test -json -race -vet=off -p "$at_once" -parallel "$at_once" -timeout "$timeout" -exec "${tested[*]}" "${flags[@]}" "$@")
fi
events=$(mktemp)
trap 'rm -f "$events"' EXIT
status=0
go tool -modfile=tools/gotestsum/go.mod gotestsum --format=standard-quiet --hide-summary=skipped --jsonfile="$events" \
  --raw-command -- "${run[@]}" || status=$?
awk -f hack/totals/totals.awk "$events"
exit "$status"
