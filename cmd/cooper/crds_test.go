// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// TestCRDsOfTheUpstreamProject starts `cooper up` on a cluster with the CRDs of the upstream project and
// verifies that they are replaced only with the user's consent.
func TestCRDsOfTheUpstreamProject(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "two control planes")
	data := newData(t)
	dir, err := rundir.At(data)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := dir.Acquire() // marks the directory as cooper's
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../testenv/testdata/upstream-v1alpha2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	foreign := map[string][]byte{}
	for i, document := range bytes.Split(text, []byte("\n---\n")) {
		foreign[string(rune('a'+i))] = document
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Options{DataDir: dir.ControlPlane(), CRDs: foreign})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, cp.Config(), "default"); err != nil {
		t.Fatal(err)
	}
	const refusal = "these CustomResourceDefinitions are not Cooper's"
	const difference = "fields that Cooper's CRD lacks: spec.bucketClaims.accessMode, status.error, status.readyToUse"
	if got := cooper(t, []string{"KUBECONFIG=" + kubeconfig}, "check"); got.code != 1 || !strings.Contains(got.stderr, refusal) || !strings.Contains(got.stdout, difference) {
		t.Errorf("cooper check: exit %d, want 1, what differs and why not:\n%s%s", got.code, got.stdout, got.stderr)
	}
	if got := cooper(t, []string{"KUBECONFIG=" + kubeconfig}, "check", "--replace-crds"); got.code != 0 || !strings.Contains(got.stdout, "can be installed") {
		t.Errorf("cooper check --replace-crds: exit %d, want 0:\n%s%s", got.code, got.stdout, got.stderr)
	}
	if err := cp.Stop(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second run reuses the state of the first
		if got := cooper(t, nil, "up", "--data", data, "--no-sample"); got.code != 1 || !strings.Contains(got.stderr, refusal) || !strings.Contains(got.stderr, difference) {
			t.Fatalf("cooper up: exit %d, want 1, what differs and why not:\n%s", got.code, got.stderr)
		}
	}
	up := startUpIn(t, data, "--replace-crds")
	if got := cooper(t, nil, "check", "--kubeconfig", up.environment(t)["KUBECONFIG"]); got.code != 0 || strings.Contains(got.stdout, "upstream") {
		t.Errorf("cooper check afterwards: exit %d, want 0 and nothing of upstream:\n%s%s", got.code, got.stdout, got.stderr)
	}
}
