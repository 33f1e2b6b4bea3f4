// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"testing"

	"google.golang.org/api/iam/v1"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// TestStaleReads makes a service account and reads it until it is seen, at the third call with a lag of two.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{Past: true})
	accounts := f.iam(t, f.adminKey(t)).Projects.ServiceAccounts
	wantNoError(t, f.Faults.Add(fault.Rule{Operation: "iam.projects.serviceAccounts.get", Effect: fault.Stale, Lag: 2}))
	made, err := accounts.Create("projects/"+f.ProjectID(), &iam.CreateServiceAccountRequest{AccountId: "somebody"}).Context(t.Context()).Do()
	wantNoError(t, err)
	for read := 1; read <= 3; read++ {
		_, err := accounts.Get(made.Name).Context(t.Context()).Do()
		if seen := err == nil; seen != (read == 3) {
			t.Errorf("read %d: %v", read, err)
		}
	}
	if listed, err := accounts.List("projects/" + f.ProjectID()).Context(t.Context()).Do(); err != nil || len(listed.Accounts) != 2 {
		t.Errorf("a list that no rule is for: %+v, %v", listed, err)
	}
}
