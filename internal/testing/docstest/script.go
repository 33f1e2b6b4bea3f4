// SPDX-License-Identifier: Apache-2.0

package docstest

import (
	"fmt"
	"strings"
)

// prelude stops the background processes when the script ends for any reason, with the interrupt that a reader's
// Ctrl-C would send. The last one is stopped first, as it may depend on earlier ones. Job control gives each
// background block its own process group to receive the signal.
const prelude = `set -euo pipefail
set -m
export PAGE_DIR=${PAGE_DIR:-$PWD}
background=()
finish() {
  local status=$? i job ended
  trap - EXIT
  set +e
  for ((i = ${#background[@]} - 1; i >= 0; i--)); do
    job=${background[i]}
    kill -INT -- "-$job" 2>/dev/null
    wait "$job"
    ended=$?
    # 130 is what a shell or make says of a Ctrl-C that its command took well.
    if [ "$ended" -ne 0 ] && [ "$ended" -ne 130 ]; then
      echo "the background block of process $job ended with $ended on Ctrl-C"
      [ "$status" -ne 0 ] || status=1
    fi
  done
  exit "$status"
}
trap finish EXIT
# A command whose output is evaluated may fail, which bash overlooks.
eval() {
  local status=$?
  [ "$status" -eq 0 ] || { echo "the command whose output is evaluated failed with $status"; exit "$status"; }
  builtin eval "$@"
}
await() { # await <text> <log> <process>
  until grep -qF -- "$1" "$2"; do
    kill -0 "$3" 2>/dev/null || { cat "$2"; echo "the background block ended before it printed: $1"; exit 1; }
    sleep 0.2
  done
  cat "$2"
}
`

// Script returns a bash script that runs the blocks of one page in order in one shell and stops at the first command
// that fails. It writes files only to $PAGE_DIR and prints the location of each block before it runs.
func Script(blocks []Block) string {
	var script strings.Builder
	script.WriteString(prelude)
	for _, b := range blocks {
		place := fmt.Sprintf("%s:%d", b.Page, b.Line)
		switch b.Kind {
		case Run:
			fmt.Fprintf(&script, "echo %s\n%s", quote("=== "+place), b.Text)
		case Until:
			log := fmt.Sprintf(`"$PAGE_DIR/block-%d.log"`, b.Line)
			fmt.Fprintf(&script, "echo %s\n(\n%s) >%s 2>&1 &\nbackground+=($!)\nawait %s %s $!\n",
				quote("=== "+place+", in the background"), b.Text, log, quote(b.Argument), log)
		case File:
			fmt.Fprintf(&script, "printf %%s %s >\"$PAGE_DIR\"/%s\n", quote(b.Text), quote(b.Argument))
		case Output, RunWith, NotRun:
		}
	}
	return script.String()
}

// quote quotes any text as one shell word.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
