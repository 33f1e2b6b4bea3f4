// SPDX-License-Identifier: Apache-2.0

package shellenv_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/shellenv"
)

func TestWriteIsReadBackByAShell(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"a plain word":            "AKIAIOSFODNN7EXAMPLE",
		"a secret with slashes":   "wJalrXUtnFEMI/K7MDENG+bPxRfiCY=",
		"spaces and quotes":       `it's "so" $HOME`,
		"a command substitution":  "$(echo no) `echo no`",
		"several lines":           "-----BEGIN-----\nabc\n-----END-----",
		"the empty value":         "",
		"a tilde and a semicolon": "~root; echo no",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var script bytes.Buffer
			if err := shellenv.Write(&script, map[string]string{"VALUE": value}); err != nil {
				t.Fatal(err)
			}
			script.WriteString(`printf '%s' "$VALUE"`)
			got, err := exec.CommandContext(t.Context(), "sh", "-c", script.String()).Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != value {
				t.Errorf("want %q, got %q", value, got)
			}
		})
	}
}

func TestWriteRefusesANameThatNoShellAccepts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "1A", "A-B", "A B", "A;B"} {
		var out bytes.Buffer
		err := shellenv.Write(&out, map[string]string{"GOOD": "1", name: "x"})
		if err == nil || !strings.Contains(err.Error(), "cannot be the name") || out.Len() > 0 {
			t.Errorf("name %q: error %v, output %q", name, err, out.String())
		}
	}
}
