#!/usr/bin/env bash
# Installs what tests need of npm into the user's cache, once, and prints where the packages are:
#   hack/npm.sh azurite          Azurite, with which fakes/azurefake is compared
#   hack/npm.sh grpc             gRPC for testenv/olddriver
#   hack/npm.sh clients          the clouds' clients for pages of docs/howto
#   hack/npm.sh testcontainers   modules of testcontainers for e2e/containers
#   hack/npm.sh site             VitePress, which makes a site of docs, and Mermaid, which draws its diagrams
# It needs Node and npm; nothing of these packages is imported.
set -euo pipefail
case ${1:-} in
azurite) packages=(azurite@3.37.0) ;;
grpc) packages=(@grpc/grpc-js@1.14.7 @grpc/proto-loader@0.8.1) ;;
clients) packages=(@azure/storage-blob@12.32.0 @google-cloud/storage@7.22.0 @aws-sdk/client-s3@3.1175.0) ;;
testcontainers)
  packages=(testcontainers@12.2.0 @testcontainers/gcloud@12.1.0 @testcontainers/azurite@12.1.0)
  # They need Node 22.22. If the installed Node is older, the set has one, as node_modules/.bin/node.
  older='const [major, minor] = process.versions.node.split(".").map(Number); major < 22 || major === 22 && minor < 22'
  [ "$(node -p "$older")" = false ] || packages+=("node-$(node -p 'process.platform + "-" + process.arch')@22.23.3")
  ;;
site) packages=(vitepress@1.6.4 mermaid@12.3.0) ;;
*) echo "hack/npm.sh: say azurite, grpc, clients, testcontainers or site" >&2 && exit 2 ;;
esac
dir=${XDG_CACHE_HOME:-$HOME/.cache}/cooper/stores/$1
echo "$dir/node_modules"
installed() { [ "$(cat "$dir/version" 2>/dev/null)" = "${packages[*]}" ]; }
installed && exit 0
mkdir -p "$(dirname "$dir")"
# Tests of several packages may run this script at the same time. Without the lock, one process could replace programs that
# another test already uses.
if command -v flock >/dev/null; then
  exec 9>"$dir.lock"
  flock 9
  installed && exit 0
fi
echo "installing ${packages[*]} of npm, once for this machine" >&2
tmp=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$tmp" "${packages[@]}" >&2
echo "${packages[*]}" >"$tmp/version"
rm -rf "$dir"
mv "$tmp" "$dir"
