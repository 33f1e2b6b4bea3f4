// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	testenv.Main(m)
}

// TestCosiObcEnds starts the program in ways that make it exit at once. The tests of obc and
// docs/howto/objectbucketclaims.md cover how it serves claims.
func TestCosiObcEnds(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	reached := "KUBECONFIG=" + env.Kubeconfig(env.Config(), "default")
	for name, tc := range map[string]struct {
		environment []string
		arguments   []string
		code        int
		want        string
	}{
		"help names the variables":        {nil, []string{"--help"}, 0, "[COOPER_LEADER_ELECT]"},
		"no way to the API server":        {nil, nil, 1, "not running in a Pod: pass the kubeconfig file of the cluster with --kubeconfig"},
		"a cluster without the kinds":     {[]string{reached}, nil, 1, "has no kind ObjectBucketClaim in objectbucket.io/v1alpha1: apply deploy/obc/crds there first"},
		"adopt has a help of its own":     {nil, []string{"adopt", "--help"}, 0, "--bucket-access-class"},
		"adopt wants to know what":        {nil, []string{"adopt"}, 2, "--from and --bucket-access-class are required"},
		"adopt keeps the names apart":     {nil, []string{"adopt", "--from=a", "--bucket-access-class=b", "--suffix="}, 2, "--suffix must not be empty"},
		"adopt wants a class that exists": {[]string{reached}, []string{"adopt", "--from=a", "--bucket-access-class=b"}, 1, `there is no BucketAccessClass "b": create it first`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := processtest.StartProgram(t, tc.environment, tc.arguments...)
			if code := process.Exit(); code != tc.code || !strings.Contains(process.Output(), tc.want) {
				t.Errorf("want exit code %d and %q, got %d:\n%s", tc.code, tc.want, code, process.Output())
			}
		})
	}
}
