#!/usr/bin/env bash
# Checks what a machine can check without running a test. Every check runs, so
# that one run shows all that is wrong, and the last line has the totals; the exit
# code is 1 if any failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# As in the Makefile: what is compiled for one check is there for the others.
export CGO_ENABLED=0 GOFLAGS=-trimpath

passed=0 failed=0 skipped=0
check() { # check <name> <command...>: quiet when it passes; a command that exits 77 could not check
  local name=$1 start=$SECONDS status=0 out
  shift
  out=$("$@" 2>&1) || status=$?
  case $status in
    0) passed=$((passed + 1)) && printf 'ok    %-16s %3ds\n' "$name" $((SECONDS - start)) ;;
    77) skipped=$((skipped + 1)) && printf 'SKIP  %-16s %3ds  %s\n' "$name" $((SECONDS - start)) "$(tail -n 1 <<<"$out")" ;;
    *) failed=$((failed + 1)) && printf '%s\nFAIL  %-16s %3ds\n' "$(tail -n 80 <<<"$out")" "$name" $((SECONDS - start)) ;;
  esac
}

# tree names the content of the working tree, uncommitted and new files included.
tree() {
  local index
  index=$(mktemp -u)
  cp "$(git rev-parse --git-path index)" "$index"
  GIT_INDEX_FILE=$index git add -A
  GIT_INDEX_FILE=$index git write-tree
  rm -f "$index"
}

current() { # current <command...>: whether what a command generates is as it was
  local before after
  before=$(tree)
  "$@" || return
  after=$(tree)
  git diff --stat --exit-code "$before" "$after" && return 0
  echo "These generated files were not current. They are now: commit them."
  return 1
}

api_changes() { # says also what breaks
  local status=0
  current bash hack/apidiff/run.sh || status=$?
  [ "$status" -ne 1 ] || git diff -U0 docs/reference/api-changes.md
  return "$status"
}

found=$(bash hack/modules.sh) # fails the script, which a process substitution would not
mapfile -t modules <<<"$found"
mapfile -t tools < <(git ls-files 'tools/*.go' | xargs -r dirname | sort -u) # programs of this project
in_modules() { # in_modules <command...>: runs a command of Go in each module that has Go files of this project
  local module status=0
  for module in . "${modules[@]}" "${tools[@]}"; do
    (cd "$module" && "$@") || { echo "in the module $module"; status=1; }
  done
  return "$status"
}

formatted() {
  local files
  files=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
  [ -z "$files" ] || { printf 'not formatted; run gofmt -w on:\n%s\n' "$files"; return 1; }
}

check generated current go generate ./...
check 'API changes' api_changes
check gofmt formatted
check vet in_modules go vet ./...
check macOS go -C tools/crosscheck run . darwin/arm64 "$PWD" "${modules[@]/#/$PWD/}" # compiles, though no test runs there
check golangci-lint bash hack/lint.sh
check prose bash hack/prose.sh
check 'go mod tidy' in_modules go mod tidy -diff
# Licences that put no condition on the whole program, of what the commands are linked with. The tool knows the standard
# library by where it is, which -trimpath keeps from it.
check licences env GOROOT="$(go env GOROOT)" go tool -modfile=tools/go-licenses/go.mod go-licenses check ./cmd/... \
  --allowed_licenses=0BSD,Apache-2.0,BSD-2-Clause,BSD-3-Clause,CC0-1.0,ISC,MIT,MPL-2.0,Unlicense
check govulncheck bash hack/govulncheck/run.sh ./cmd/...
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
