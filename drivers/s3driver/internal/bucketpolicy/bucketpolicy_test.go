// SPDX-License-Identifier: Apache-2.0

package bucketpolicy_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/bucketpolicy"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// foreign is what somebody else wrote, whose elements an editor need not know.
const foreign = `{"Sid":"theirs","Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/public/*","Condition":{"Bool":{"aws:SecureTransport":"true"}}}`

// store is a store with one bucket, of which it knows the policy alone.
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

// principals are those of our statements, and the number of statements.
func (s *store) principals(t *testing.T) (any, int) {
	t.Helper()
	var document struct{ Statement []map[string]any }
	if s.policy != "" {
		if err := json.Unmarshal([]byte(s.policy), &document); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range document.Statement {
		if one["Sid"] != "theirs" {
			return one["Principal"], len(document.Statement)
		}
	}
	return nil, len(document.Statement)
}

// TestPrincipalsOfAnyForm has two accounts come and go in a policy that an administrator began.
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
			server := httptest.NewServer(held)
			t.Cleanup(server.Close)
			editor := &bucketpolicy.Editor{Kind: test.kind, Dialect: policy.Dialect{Partition: "aws"}, S3: s3.New(s3.Options{
				BaseEndpoint: &server.URL, Region: "us-east-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
			})}
			is := func(one string) func(string) bool { return func(found string) bool { return found == one } }
			for range 2 {
				for _, one := range test.others {
					if err := editor.Set(t.Context(), policy.Bucket{Name: "b", Access: policy.Access{ObjectData: policy.Write}}, []string{one}, is(one)); err != nil {
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

// TestPrincipalsThatAreGone leave with the next change, and the last statement takes the policy along.
func TestPrincipalsThatAreGone(t *testing.T) {
	t.Parallel()
	held := &store{}
	server := httptest.NewServer(held)
	t.Cleanup(server.Close)
	present := []string{"a", "b"}
	editor := &bucketpolicy.Editor{Kind: "AWS", Dialect: policy.Dialect{Partition: "aws"}, S3: s3.New(s3.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), Present: func(context.Context) ([]string, error) { return present, nil }}
	bucket := policy.Bucket{Name: "b", Access: policy.Access{ObjectData: policy.Read}}
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
	if err := editor.Drop(t.Context(), "b", func(one string) bool { return one == "b" }); err != nil || held.policy != "" {
		t.Errorf("the policy that is left is %q (%v)", held.policy, err)
	}
}
