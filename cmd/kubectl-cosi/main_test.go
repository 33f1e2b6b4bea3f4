// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args        []string
		want        int
		out, errOut string
	}{
		"the version":                         {args: []string{"version"}, out: "kubectl-cosi "},
		"no subcommand":                       {out: "kubectl cosi [command]"},
		"help has kubectl's flags":            {args: []string{"--help"}, out: "--kubeconfig"},
		"a subcommand that there is not":      {args: []string{"destroy"}, want: 1, errOut: `error: unknown command "destroy" for "kubectl cosi"`},
		"a flag that there is not":            {args: []string{"version", "--wrong"}, want: 2, errOut: "error: unknown flag: --wrong: see kubectl cosi version --help"},
		"an argument too many":                {args: []string{"version", "a"}, want: 1, errOut: "error: unknown command"},
		"a kubeconfig completes in the shell": {args: []string{"completion", "bash"}, out: "__start_kubectl-cosi"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			if got := run(t.Context(), tc.args, streams); got != tc.want {
				t.Errorf("exit code: want %d, got %d", tc.want, got)
			}
			if !strings.Contains(out.String(), tc.out) || !strings.Contains(errOut.String(), tc.errOut) {
				t.Errorf("want %q and %q, got\n%s\n%s", tc.out, tc.errOut, out, errOut)
			}
		})
	}
}

func TestEverySubcommandSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	for _, c := range command(streams).Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its short text is %q: one sentence without a full stop", c.Name(), c.Short)
		}
	}
}
