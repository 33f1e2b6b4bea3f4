// SPDX-License-Identifier: Apache-2.0

package names_test

import (
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/names"
)

// TestFit includes names that S3 would accept but a driver must not use: dots separate the backend's name in an ID.
func TestFit(t *testing.T) {
	t.Parallel()
	const id = "0b4f9f0e-8a57-4c4c-9d3e-2f2b3a8f1c11"
	if got := names.Buckets().Fit("team-", "bc-"+id); got != "team-bc-"+id {
		t.Errorf("a bucket of COSI is named %q", got)
	}
	if got := names.Accounts().Fit("", "ba-"+id); got != "ba-"+id {
		t.Errorf("an account of COSI is named %q", got)
	}
	for _, proposed := range []string{"www.example.com", "Bucket", "a", strings.Repeat("a", 65), "abc-", "h-abc"} {
		bucket, account := names.Buckets().Fit("", proposed), names.Accounts().Fit("", proposed)
		if !strings.HasPrefix(bucket, "h-") || bucket != account {
			t.Errorf("%q became %q and %q, want a hash", proposed, bucket, account)
		}
	}
}

func TestCouldExist(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"www.example.com": true, "abc": true, "a": false, "a/b": false, "Bucket": false, strings.Repeat("a", 64): false} {
		if got := names.CouldExist(name); got != want {
			t.Errorf("%s could exist: %t", name, got)
		}
	}
}
