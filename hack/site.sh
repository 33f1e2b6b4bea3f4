#!/usr/bin/env bash
# Makes a site of docs, which any web server serves and which can be searched without a network:
#   hack/site.sh [directory, dist/site if not given]
# It fails where a page links to one that is not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m "${1:-dist/site}")
modules=$(bash hack/npm.sh site)
# VitePress writes next to the pages and looks for its packages in a parent directory, so it gets a copy.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r docs "$work"
find "$work/docs" -name README.md | while read -r page; do mv "$page" "${page/README/index}"; done
cp -r hack/site "$work/docs/.vitepress"
ln -s "$modules" "$work/node_modules"
# Mermaid is there as it was built: to bundle it again takes as long as all pages.
mkdir -p "$work/docs/public/mermaid/chunks"
cp "$modules"/mermaid/dist/mermaid.esm.min.mjs "$work/docs/public/mermaid"
cp -r "$modules"/mermaid/dist/chunks/mermaid.esm.min "$work/docs/public/mermaid/chunks"
find "$work/docs/public" -name '*.map' -delete
"$modules/.bin/vitepress" build "$work/docs" --outDir "$out"
