#!/usr/bin/env bash
# Generates the .pb.go files from the .proto files next to them. The compiler and the plugins are Go programs of the
# module tools/proto: nothing is downloaded but Go modules.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
(cd "$root/tools/proto" && GOFLAGS=-mod=readonly GOBIN="$bin" go install tool .)
PATH="$bin:$PATH" "$bin/proto" "$root" proto/options.proto proto/cosi.proto proto/credentialstore.proto \
  proto/v1alpha1/v1alpha1.proto proto/upstream/upstream.proto fakes/gcsfake/internal/storagepb/storage.proto
