#!/usr/bin/env bash
# Prints the directories of the modules below the root, one per line, except those in tools/. The full tier runs their
# tests; the short tier does not compile them (docs/adr/0058-test-modules.md).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
modules=$(git ls-files --cached --others --exclude-standard -- '*/go.mod' ':!tools' | xargs -r dirname)
[ -n "$modules" ] || { echo 'hack/modules.sh: git lists no go.mod below the root' >&2 && exit 1; }
echo "$modules"
