// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestLifecycle(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	s.untilWrites(writesOfBucket...)
	a := s.readyAccess(b)
	secret := testenv.Get(s.Env, s.secrets(a)[0])
	for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "COSI_PROTOCOL", "BUCKET_NAME"} {
		if len(secret.Data[key]) == 0 {
			t.Errorf("the Secret has no %s", key)
		}
	}
	s.untilWrites(slices.Concat(writesOfBucket, writesOfAccess)...)
	s.Delete(a)
	s.release(a)
	s.Gone(secret)
	s.leave(b)
	s.Gone(b)
	want := []memdriver.RPC{
		memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.GenerateAccessID, memdriver.GrantAccess,
		memdriver.RevokeAccess, memdriver.DeleteBucket,
	}
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		t.Errorf("calls (-want, +got):\n%s", diff)
	}
	if left := s.driver.Inventory(); len(left.Buckets)+len(left.Accounts) > 0 {
		t.Errorf("the backend still has %+v", left)
	}
}
