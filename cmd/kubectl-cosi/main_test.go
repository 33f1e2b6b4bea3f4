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
		"the version by a flag":               {args: []string{"--version"}, out: "kubectl-cosi "},
		"no subcommand":                       {out: "kubectl cosi [command]"},
		"help has kubectl's flags":            {args: []string{"--help"}, out: "--kubeconfig"},
		"help of a subcommand":                {args: []string{"status", "--help"}, out: "The flags of kubectl, such as --namespace"},
		"an explanation, of any letters":      {args: []string{"explain", "secrettaken"}, out: "SecretTaken (condition)\n  What happened: COSI cannot use the Secret"},
		"an explanation of a refusal":         {args: []string{"explain", "error: spec: Invalid value: every accessSecretName may be used only once"}, out: "every accessSecretName may be used only once (refusal)\n  Why: "},
		"an explanation of nothing":           {args: []string{"explain", "a\x1b[2J"}, want: 2, errOut: `error: "a�[2J" is not a reason of COSI`},
		"reasons complete":                    {args: []string{"__complete", "explain", "Secret"}, out: "SecretTaken"},
		"a cluster that cannot be reached":    {args: []string{"status", "--server", "http://127.0.0.1:1"}, want: 1, errOut: "connect: connection refused"},
		"a kubeconfig that there is not":      {args: []string{"status", "--kubeconfig", "/nonexistent/a"}, want: 1, errOut: "/nonexistent/a"},
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
	for _, c := range command(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its short text is %q: one sentence without a full stop", c.Name(), c.Short)
		}
	}
}
