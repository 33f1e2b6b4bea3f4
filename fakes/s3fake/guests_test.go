// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestOtherAccounts calls as users of another account ("Cross-account policy evaluation logic" in the IAM User Guide,
// "Troubleshoot access denied (403 Forbidden) errors" in the Amazon S3 User Guide).
func TestOtherAccounts(t *testing.T) {
	t.Parallel()
	const account = "111122223333"
	dir := t.TempDir()
	s, err := s3fake.New(s3fake.Options{Dir: dir})
	wantNoError(t, err)
	users := map[string]s3fake.ImportedUser{
		"reader": {Policy: allow("s3:GetObject", "*")}, "admin": {Policy: allow("*", "*")}, "nobody": {},
	}
	for name, u := range users {
		u.Name, u.Account, u.AccessKeyID, u.SecretAccessKey = name, account, "AKIA"+strings.ToUpper(name), "secret"
		wantNoError(t, s.ImportUser(u))
		users[name] = u
	}
	w := &world{Server: s, known: map[string]string{}}
	grant := func(principal string) string {
		return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"` + principal + `"},"Action":"s3:GetObject","Resource":"arn:aws:s3:::named/*"}]}`
	}
	for _, step := range []operation{
		{method: http.MethodPut, path: "/named"},
		{method: http.MethodPut, path: "/named?policy", body: grant("arn:aws:iam::" + account + ":root")},
		{method: http.MethodPut, path: "/named/k", body: "x"},
		{method: http.MethodPut, path: "/closed"},
		{method: http.MethodPut, path: "/closed/k", body: "x"},
		query("CreateRole", "RoleName=role", "AssumeRolePolicyDocument="+strings.ReplaceAll(trust, "000000000000", account)),
	} {
		if got := w.send(t, s.Root(), step); got.Code >= http.StatusMultipleChoices {
			t.Fatalf("set up %s: %d %s", step.path, got.Code, got.Body)
		}
	}
	wantNoError(t, s.Close())
	s = faketest.Open(t, s3fake.New, s3fake.Options{Dir: dir})
	w = &world{Server: s, known: map[string]string{}}
	get := func(path string) operation { return operation{method: http.MethodGet, path: path} }
	assume := query("AssumeRole", "RoleArn=arn:aws:iam::000000000000:role/role", "RoleSessionName=session")
	tests := map[string]struct {
		who    string
		op     operation
		status int
		// says is part of the response.
		says string
	}{
		"what both accounts allow":                     {"reader", get("/named/k"), 200, "x"},
		"what the other account does not allow":        {"nobody", get("/named/k"), 403, "<Message>Access Denied</Message>"},
		"what the bucket does not allow":               {"admin", get("/closed/k"), 403, "<Message>Access Denied</Message>"},
		"a write where the bucket allows reads":        {"admin", operation{method: http.MethodPut, path: "/named/k", body: "y"}, 403, "AccessDenied"},
		"a new bucket in an account that is not his":   {"admin", operation{method: http.MethodPut, path: "/fresh"}, 403, "AccessDenied"},
		"users of an account that is not his":          {"admin", query("ListUsers"), 403, "because no resource-based policy allows the iam:ListUsers action"},
		"a role that trusts his account":               {"admin", assume, 200, "<SessionToken>"},
		"a role that trusts him, if he may not assume": {"reader", assume, 403, "AccessDenied"},
		"who he is": {"nobody", query("GetCallerIdentity"), 200, "arn:aws:iam::" + account + ":user/nobody"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.send(t, users[tc.who].Credentials, tc.op)
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("got %d %s, want %d with %q", got.Code, got.Body, tc.status, tc.says)
			}
		})
	}
}
