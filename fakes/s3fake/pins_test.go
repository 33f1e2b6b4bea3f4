// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestNamesakesInheritNothing deletes a user whom policies name, and makes another of the same name ("Principal" in the
// IAM JSON policy elements reference).
func TestNamesakesInheritNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const arn = "arn:aws:iam::000000000000:user/heir"
	do := func(op operation) string {
		t.Helper()
		got := w.send(t, w.Root(), op)
		if got.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s %s %s: %d %s", op.method, op.path, op.actions, got.Code, got.Body)
		}
		return got.Body.String()
	}
	heir := func(key string) s3fake.Credentials {
		t.Helper()
		c := s3fake.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}
		wantNoError(t, w.ImportUser(s3fake.ImportedUser{Name: "heir", Credentials: c}))
		return c
	}
	may := func(c s3fake.Credentials, want int) {
		t.Helper()
		assume := query("AssumeRole", "RoleArn=arn:aws:iam::000000000000:role/trusting", "RoleSessionName=session")
		for _, op := range []operation{{method: http.MethodGet, path: "/docs/k"}, assume} {
			if got := w.send(t, c, op); got.Code != want {
				t.Errorf("%s %s: %d %s, want %d", op.path, op.actions, got.Code, got.Body, want)
			}
		}
	}
	first := heir("AKIAFIRSTFIRST01")
	document := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + arn + `"},"Action":"s3:GetObject","Resource":"arn:aws:s3:::docs/*"}]}`
	do(operation{method: http.MethodPut, path: "/docs?policy", body: document})
	trusting := strings.Replace(trust, `"000000000000"`, `"`+arn+`"`, 1)
	do(query("CreateRole", "RoleName=trusting", "AssumeRolePolicyDocument="+trusting))
	may(first, http.StatusOK)
	do(query("UpdateUser", "UserName=heir", "NewPath=/moved/"))
	may(first, http.StatusOK)
	if shown := do(operation{method: http.MethodGet, path: "/docs?policy"}); !strings.Contains(shown, "user/moved/heir") {
		t.Errorf("the policy does not show the user's new name: %s", shown)
	}
	do(query("DeleteAccessKey", "UserName=heir", "AccessKeyId="+first.AccessKeyID))
	do(query("DeleteUser", "UserName=heir"))
	may(heir("AKIASECONDSECOND"), http.StatusForbidden)
	if shown := do(operation{method: http.MethodGet, path: "/docs?policy"}); !strings.Contains(shown, `"AWS":"AIDA`) {
		t.Errorf("the policy does not show that the user is gone: %s", shown)
	}
	if shown := do(query("GetRole", "RoleName=trusting")); !strings.Contains(shown, "AIDA") {
		t.Errorf("the role does not show that the user is gone: %s", shown)
	}
	do(operation{method: http.MethodPut, path: "/docs?policy", body: document})
	if got := w.send(t, s3fake.Credentials{AccessKeyID: "AKIASECONDSECOND", SecretAccessKey: "secret"}, operation{method: http.MethodGet, path: "/docs/k"}); got.Code != http.StatusOK {
		t.Errorf("with the policy stored again: %d %s", got.Code, got.Body)
	}
}

// TestTrustNamesWhoExists checks that a trust policy with an unknown principal is rejected.
func TestTrustNamesWhoExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	document := strings.Replace(trust, `"000000000000"`, `"arn:aws:iam::000000000000:user/nobody"`, 1)
	got := w.send(t, w.Root(), query("CreateRole", "RoleName=trusting", "AssumeRolePolicyDocument="+document))
	if got.Code != http.StatusBadRequest || errorCode(got.Body.Bytes()) != "MalformedPolicyDocument" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}
