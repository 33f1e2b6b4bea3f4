#!/usr/bin/env bash
# Installs Azurite from npm into the user's cache, once, for the tests that compare
# fakes/azurefake with it. It needs Node and npm; nothing of Azurite's is imported.
set -euo pipefail
version=3.37.0
dir=${XDG_CACHE_HOME:-$HOME/.cache}/cooper/stores/azurite
main=$dir/node_modules/azurite/dist/src/blob/main.js
if [ -f "$main" ] && [ "$(cat "$dir/version" 2>/dev/null)" = "$version" ]; then
  exit 0
fi
mkdir -p "$(dirname "$dir")"
tmp=$(mktemp -d "$dir.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$tmp" "azurite@$version" >&2
echo "$version" >"$tmp/version"
rm -rf "$dir"
mv "$tmp" "$dir"
