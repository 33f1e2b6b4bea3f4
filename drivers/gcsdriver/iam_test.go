// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"testing"

	"cloud.google.com/go/iam/apiv1/iampb"
	"golang.org/x/oauth2"
	iam "google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/genproto/googleapis/type/expr"
)

// conditional is a binding as an administrator writes it.
func conditional(role, member string) *iampb.Binding {
	return &iampb.Binding{Role: role, Members: []string{member}, Condition: &expr.Expr{
		Title: "office hours", Description: "by hand", Expression: `request.time < timestamp("2100-01-01T00:00:00Z")`,
	}}
}

// removeAccount deletes a service account as an administrator would.
func removeAccount(t *testing.T, on google, email string) {
	t.Helper()
	token, err := on.Token(on.AdminEmail(""))
	if err != nil {
		t.Fatal(err)
	}
	api, err := iam.NewService(t.Context(), option.WithEndpoint(on.URL()+"/"), option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
}
