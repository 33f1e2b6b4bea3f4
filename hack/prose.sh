#!/usr/bin/env bash
# Checks prose with Vale of the version in tools/vale, built from source with cgo: Markdown, generated pages included,
# comments in code, and texts in YAML. First it checks that each rule in hack/prose/Cooper flags its own example, and that
# no rule flags an accepted example.
#   hack/prose.sh [files or directories; the whole repository if not given]
#   hack/prose.sh --version
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
vale() { CGO_ENABLED=1 CGO_CFLAGS='-O2 -w' go tool -modfile=tools/vale/go.mod vale --output=line "$@"; }
[ "${1:-}" != --version ] || { vale --version && exit; }

examples=$(mktemp -d)
mkdir "$examples/flagged" "$examples/accepted"
trap 'rm -rf "$examples"' EXIT
line=1 # every other line is an example, because lines without an empty line between them are one paragraph
for rule in hack/prose/Cooper/*.yml; do
  sed -n 's/^# flags: \(.*\)/\1\n/p' "$rule" >>"$examples/flagged/page.md"
  sed -n 's/^# accepts: \(.*\)/\1\n/p' "$rule" >>"$examples/accepted/page.md"
  echo "$line:Cooper.$(basename "$rule" .yml)" >>"$examples/want"
  line=$((line + 2))
done
vale "$examples/flagged/page.md" | sed -E 's/^[^:]*:([0-9]+):[0-9]+:([^:]*):.*/\1:\2/' | sort -u >"$examples/got" || true
missing=$(sort "$examples/want" | comm -23 - "$examples/got")
[ -z "$missing" ] || { printf 'these rules do not flag their own example (line:rule):\n%s\n' "$missing"; exit 1; }
vale "$examples/accepted/page.md" || { echo 'these examples must be accepted: see "# accepts:" in hack/prose/Cooper'; exit 1; }

git ls-files -z -- "${@:-.}" | grep -zE '\.(md|go|proto|ya?ml|sh|js)$' |
  grep -zvE '\.pb\.go$|zz_generated|testdata/|^hack/prose/' |
  { mapfile -d '' -t files && { [ "${#files[@]}" -eq 0 ] || vale "${files[@]}"; }; }
