// SPDX-License-Identifier: Apache-2.0

package params_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
)

func TestParseAccess(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct{ hmac, json bool }{"": {true, false}, "hmac": {true, false}, "json": {false, true}, "both": {true, true}} {
		values := driverkit.Values{}
		if value != "" {
			values["credentials"] = value
		}
		got := params.ParseAccess(values).Credentials
		if got.WantsHMAC() != want.hmac || got.WantsJSON() != want.json {
			t.Errorf("%q asks for %q", value, got)
		}
	}
	if params.AccessParameters()["credentials"].Check("pem") == nil {
		t.Error("unknown credentials are accepted")
	}
	if !params.ParseAccess(driverkit.Values{"bucketReader": "false"}).NoBucketReader {
		t.Error("bucketReader is ignored")
	}
}
