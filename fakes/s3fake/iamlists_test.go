// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFiltersOfIAMLists narrows lists down (ListEntitiesForPolicy and ListAttachedUserPolicies in the IAM API Reference).
func TestFiltersOfIAMLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const below = "arn:aws:iam::000000000000:policy/below/nested"
	for _, op := range []operation{
		query("CreatePolicy", "PolicyName=nested", "Path=/below/", "PolicyDocument="+anyPolicy),
		query("CreateUser", "UserName=holder", "Path=/below/"),
		query("AttachUserPolicy", "UserName=holder", "PolicyArn="+below),
		query("AttachUserPolicy", "UserName=holder", "PolicyArn="+managed),
		query("PutUserPermissionsBoundary", "UserName=spare", "PermissionsBoundary="+below),
	} {
		if got := w.send(t, w.Root(), op); got.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", op.actions, got.Code, got.Body)
		}
	}
	const users, attached = "ListEntitiesForPolicy", "ListAttachedUserPolicies"
	tests := map[string]struct {
		request operation
		want    string
	}{
		"whoever uses a policy":                {query(users, "PolicyArn="+below), "holder spare"},
		"whom it permits something":            {query(users, "PolicyArn="+below, "PolicyUsageFilter=PermissionsPolicy"), "holder"},
		"whose boundary it is":                 {query(users, "PolicyArn="+below, "PolicyUsageFilter=PermissionsBoundary"), "spare"},
		"whoever uses it below a path":         {query(users, "PolicyArn="+below, "PathPrefix=/below/"), "holder"},
		"whoever uses it and is a role":        {query(users, "PolicyArn="+below, "EntityFilter=Role"), ""},
		"a use that there is not":              {query(users, "PolicyArn="+below, "PolicyUsageFilter=Decoration"), "ValidationError"},
		"all policies of a user":               {query(attached, "UserName=holder"), "nested managed"},
		"the policies of a user below a path":  {query(attached, "UserName=holder", "PathPrefix=/below/"), "nested"},
		"the first policy of a user":           {query(attached, "UserName=holder", "MaxItems=1"), "nested"},
		"the policies of a user after a first": {query(attached, "UserName=holder", "Marker="+below), "managed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := w.send(t, w.Root(), tc.request).Body.String()
			var found []string
			for _, word := range []string{"holder", "spare", "nested", "managed"} {
				if strings.Contains(body, "Name>"+word+"<") {
					found = append(found, word)
				}
			}
			if tc.want == "ValidationError" {
				found = append(found, errorCode([]byte(body)))
			}
			if got := strings.Join(found, " "); got != tc.want {
				t.Errorf("got %q, want %q: %s", got, tc.want, body)
			}
		})
	}
}

// TestDocumentsComeBackAsTheyWere reads a policy with every character that some decoder of URLs takes for another.
func TestDocumentsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const document = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/a+b c%2B&d=e*f~g?h"}]}`
	w.send(t, w.Root(), query("PutUserPolicy", "UserName=spare", "PolicyName=p", "PolicyDocument="+document))
	got := w.send(t, w.Root(), query("GetUserPolicy", "UserName=spare", "PolicyName=p")).Body.String()
	_, rest, _ := strings.Cut(got, "<PolicyDocument>")
	escaped, _, _ := strings.Cut(rest, "<")
	for name, unescape := range map[string]func(string) (string, error){"as a query": url.QueryUnescape, "as a path": url.PathUnescape} {
		if text, err := unescape(escaped); err != nil || text != document {
			t.Errorf("%s: %s %v", name, text, err)
		}
	}
}
