#!/usr/bin/env bash
# Builds Helm of the version in tools/helm, with the modules there, into the user's cache, once, and prints where it is. Helm's own builds are
# told for which Kubernetes they are as this one is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(go list -modfile=tools/helm/go.mod -m -f '{{.Version}}' helm.sh/helm/v3)
minor=$(go list -modfile=tools/helm/go.mod -m -f '{{.Version}}' k8s.io/client-go | cut -d . -f 2)
modules=$(cksum <tools/helm/go.sum | cut -d ' ' -f 1)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/cooper/helm/$version-$modules
if [ ! -x "$dir/helm" ]; then
  mkdir -p "$dir"
  tmp=$(mktemp -d "$dir/build-XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  flags="-s -w"
  for package in chartutil lint/rules; do
    flags+=" -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=$minor"
  done
  env CGO_ENABLED=0 GOFLAGS=-trimpath go build -modfile=tools/helm/go.mod -ldflags="$flags" -o "$tmp/helm" helm.sh/helm/v3/cmd/helm >&2
  mv "$tmp/helm" "$dir/helm"
fi
echo "$dir/helm"
