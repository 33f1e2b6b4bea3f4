// SPDX-License-Identifier: Apache-2.0

package bucketpolicy_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/bucketpolicy"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// foreign is a statement of another author, with elements that an editor does not need to know.
const foreign = `{"Sid":"theirs","Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/public/*","Condition":{"Bool":{"aws:SecureTransport":"true"}}}`

// store is a store with one bucket that only implements its policy.
type store struct{ policy string }

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPut:
		text, _ := io.ReadAll(r.Body)
		s.policy = string(text)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodDelete:
		s.policy = ""
		w.WriteHeader(http.StatusNoContent)
	case s.policy == "":
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<Error><Code>NoSuchBucketPolicy</Code></Error>"))
	default:
		_, _ = w.Write([]byte(s.policy))
	}
}

func (s *store) statements(t *testing.T) []map[string]any {
	t.Helper()
	var document struct{ Statement []map[string]any }
	if s.policy != "" {
		if err := json.Unmarshal([]byte(s.policy), &document); err != nil {
			t.Fatal(err)
		}
	}
	return document.Statement
}

// principals returns the principals of the driver's statements, and the number of statements.
func (s *store) principals(t *testing.T) (any, int) {
	t.Helper()
	all := s.statements(t)
	for _, one := range all {
		if one["Sid"] != "theirs" {
			return one["Principal"], len(all)
		}
	}
	return nil, len(all)
}

// editor returns an editor for this store.
func (s *store) editor(t *testing.T) *bucketpolicy.Editor {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &bucketpolicy.Editor{Kind: "AWS", Dialect: policy.Dialect{Partition: "aws"}, S3: s3.New(s3.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})}
}

func is(one string) func(string) bool { return func(found string) bool { return found == one } }

func bucketTo(access policy.Direction) policy.Bucket {
	return policy.Bucket{Name: "b", Access: policy.Access{ObjectData: access}}
}

// TestPrincipalsOfAnyForm adds and removes two accounts in a policy that an administrator created.
func TestPrincipalsOfAnyForm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind   string
		others []string
		both   any
	}{
		"ARNs":            {"AWS", []string{"arn:aws:iam::1:user/a", "arn:aws:iam::1:user/b"}, map[string]any{"AWS": []any{"arn:aws:iam::1:user/a", "arn:aws:iam::1:user/b"}}},
		"canonical users": {"CanonicalUser", []string{"aaaa", "bbbb"}, map[string]any{"CanonicalUser": []any{"aaaa", "bbbb"}}},
		"plain names":     {"", []string{"a", "b"}, []any{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := &store{policy: `{"Version":"2012-10-17","Statement":` + foreign + `}`}
			editor := held.editor(t)
			editor.Kind = test.kind
			for range 2 {
				for _, one := range test.others {
					if err := editor.Set(t.Context(), bucketTo(policy.Write), []string{one}, is(one)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got, statements := held.principals(t); cmp.Diff(test.both, got) != "" || statements != 3 {
				t.Errorf("principals are %v in %d statements, want %v in 3", got, statements, test.both)
			}
			for _, one := range test.others {
				if err := editor.Drop(t.Context(), "b", is(one)); err != nil {
					t.Fatal(err)
				}
			}
			if got, statements := held.principals(t); got != nil || statements != 1 {
				t.Errorf("left are %v in %d statements, want that of the administrator", got, statements)
			}
		})
	}
}

// TestPrincipalsThatAreGone checks that they are removed with the next change, and the policy with its last
// statement.
func TestPrincipalsThatAreGone(t *testing.T) {
	t.Parallel()
	held := &store{}
	present := []string{"a", "b"}
	editor := held.editor(t)
	editor.Present = func(context.Context) ([]string, error) { return present, nil }
	bucket := bucketTo(policy.Read)
	none := func(string) bool { return false }
	if err := editor.Set(t.Context(), bucket, []string{"a"}, none); err != nil {
		t.Fatal(err)
	}
	present = []string{"b"}
	if err := editor.Set(t.Context(), bucket, []string{"b"}, none); err != nil {
		t.Fatal(err)
	}
	if got, _ := held.principals(t); cmp.Diff(map[string]any{"AWS": []any{"b"}}, got) != "" {
		t.Errorf("principals are %v, want b alone", got)
	}
	if err := editor.Drop(t.Context(), "b", is("b")); err != nil || held.policy != "" {
		t.Errorf("the policy that is left is %q (%v)", held.policy, err)
	}
}

// TestAllowedAndDenied has a dialect that denies to a writer the actions that a reader is allowed.
func TestAllowedAndDenied(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{"the reader first": {"reader", "writer"}, "the writer first": {"writer", "reader"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := &store{}
			editor := held.editor(t)
			editor.Dialect.Denied = []string{"s3:GetObject", "s3:GetObjectVersion"}
			modes := map[string]policy.Direction{"reader": policy.Read, "writer": policy.Write}
			for _, one := range order {
				if err := editor.Set(t.Context(), bucketTo(modes[one]), []string{one}, is(one)); err != nil {
					t.Fatal(err)
				}
			}
			got := map[string]any{}
			for _, one := range held.statements(t) {
				if actions, _ := one["Action"].([]any); slices.Contains(actions, any("s3:GetObject")) {
					got[one["Effect"].(string)] = one["Principal"]
				}
			}
			want := map[string]any{"Allow": map[string]any{"AWS": []any{"reader"}}, "Deny": map[string]any{"AWS": []any{"writer"}}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("principals that may get objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatementsThatAreNotAsWeWroteThem has statements that others have modified.
func TestStatementsThatAreNotAsWeWroteThem(t *testing.T) {
	t.Parallel()
	const object = `"Action":["s3:GetObject","s3:GetObjectVersion"],"Resource":["arn:aws:s3:::b/*"]`
	for name, test := range map[string]struct {
		statement string
		code      codes.Code
		// left is the number of remaining statements.
		left int
	}{
		"one that we made when its ID was that of its actions": {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","Principal":{"AWS":["a"]},` + object + `}`, codes.OK, 0},
		"one principal without its list":                       {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","Principal":{"AWS":"a"},` + object + `}`, codes.OK, 0},
		"an administrator's, with an ID that begins like ours": {`{"Sid":"cosiBackup","Effect":"Allow","Principal":{"AWS":["a"]},` + object + `}`, codes.OK, 1},
		"anybody":                          {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","Principal":"*",` + object + `}`, codes.FailedPrecondition, 1},
		"principals of another kind":       {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","Principal":{"CanonicalUser":["a"]},` + object + `}`, codes.FailedPrecondition, 1},
		"principals of two kinds":          {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","Principal":{"AWS":["a"],"CanonicalUser":["a"]},` + object + `}`, codes.FailedPrecondition, 1},
		"all but these principals":         {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","NotPrincipal":{"AWS":["a"]},` + object + `}`, codes.FailedPrecondition, 1},
		"a principal that is not its name": {`{"Sid":"cosi0123456789abcdef","Effect":"Allow","Principal":{"AWS":[1]},` + object + `}`, codes.FailedPrecondition, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := &store{policy: `{"Version":"2012-10-17","Statement":[` + test.statement + `]}`}
			err := held.editor(t).Drop(t.Context(), "b", is("a"))
			if got := status.Code(err); got != test.code || len(held.statements(t)) != test.left {
				t.Errorf("%v, and %s is left; want %s and %d statements", err, held.policy, test.code, test.left)
			}
		})
	}
}

// TestAStatementThatSaysSomethingElse checks that nothing is added to a statement that was changed, but that one
// which the store reformatted is still recognized.
func TestAStatementThatSaysSomethingElse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, to string
		code     codes.Code
	}{
		"another order of actions":    {`["s3:GetObject","s3:GetObjectVersion"]`, `["s3:GetObjectVersion","s3:GetObject"]`, codes.OK},
		"one resource, not in a list": {`["arn:aws:s3:::b/*"]`, `"arn:aws:s3:::b/*"`, codes.OK},
		"another resource":            {`["arn:aws:s3:::b/*"]`, `["arn:aws:s3:::b/public/*"]`, codes.FailedPrecondition},
		"another effect":              {`"Effect":"Allow"`, `"Effect":"Deny"`, codes.FailedPrecondition},
		"a condition":                 {`"Effect":"Allow"`, `"Effect":"Allow","Condition":{"Bool":{"aws:SecureTransport":"true"}}`, codes.FailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := &store{}
			editor := held.editor(t)
			if err := editor.Set(t.Context(), bucketTo(policy.Read), []string{"a"}, is("a")); err != nil {
				t.Fatal(err)
			}
			before := held.policy
			if held.policy = strings.ReplaceAll(before, test.from, test.to); held.policy == before {
				t.Fatalf("there is no %s in %s", test.from, before)
			}
			err := editor.Set(t.Context(), bucketTo(policy.Read), []string{"b"}, is("b"))
			if got := status.Code(err); got != test.code || len(held.statements(t)) != 2 {
				t.Errorf("%v, and %s is there; want %s", err, held.policy, test.code)
			}
		})
	}
}
