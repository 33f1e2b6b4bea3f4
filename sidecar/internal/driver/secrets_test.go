// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Secrets are kept in memory until their account is revoked, and only a few per account.
func TestSecretValuesAreForgotten(t *testing.T) {
	t.Parallel()
	v := &secretValues{}
	for account := range 3 {
		for rotation := range 100 {
			v.addReturned(fmt.Sprint(account), []string{fmt.Sprintf("secret-%d-of-%d", rotation, account), "the same for all"})
			v.addFound(fmt.Sprint(account), []string{fmt.Sprintf("found-%d-in-%d", rotation, account)}, []string{fmt.Sprintf("written-%d-in-%d", rotation, account)})
		}
	}
	for account := range 3 {
		if a := v.accounts[fmt.Sprint(account)]; len(a.returned) != keptSecrets || len(a.credentials) != keptFound || len(a.others) != keptFound {
			t.Errorf("account %d: want %d secrets and twice %d, got %+v", account, keptSecrets, keptFound, a)
		}
		if text := v.redactText("", "it is the same for all"); text != "it is [redacted]" {
			t.Errorf("a secret that other accounts have, too, is forgotten with account %d: %s", account-1, text)
		}
		v.forget(fmt.Sprint(account))
	}
	if len(v.accounts)+v.size != 0 {
		t.Errorf("accounts that are revoked are remembered: %+v", v)
	}
}

// An access of three claims with 32 added keys for each has more values than are kept. All Secrets are read before the
// driver is called.
func TestAddedKeysDoNotReplaceCredentials(t *testing.T) {
	t.Parallel()
	v := &secretValues{}
	for secret := range 3 {
		var added []string
		for key := range 32 {
			added = append(added, fmt.Sprintf("value-%02d-of-%d", key, secret))
		}
		v.addFound("one", []string{fmt.Sprintf("credential-%d", secret)}, added)
	}
	const said, want = "credential-0, credential-1, value-31-of-2", "[redacted], [redacted], [redacted]"
	if text := v.redactText("one", said); text != want {
		t.Errorf("want %s, got %s", want, text)
	}
}

// The memory for secrets is limited, and the most recent secrets are kept.
func TestSecretValuesAreBounded(t *testing.T) {
	t.Parallel()
	const n = 20
	long := func(account int) string {
		return strings.Repeat(fmt.Sprintf("%08d", account), cosi.MaxCredentialLength/8)
	}
	v := &secretValues{size: maxReturned - n/2*forms(long(0)).size()} // as if there were thousands
	for account := range n {
		v.addReturned(fmt.Sprint(account), []string{long(account), "short"})
	}
	if v.size > maxReturned {
		t.Errorf("the secrets take %d bytes", v.size)
	}
	for account, want := range map[int]bool{0: false, n - 1: true} {
		if got := v.redactText("", long(account)) == redacted; got != want {
			t.Errorf("account %d of %d is known: %v", account, n, got)
		}
	}
}

func TestRedactText(t *testing.T) {
	t.Parallel()
	v := &secretValues{}
	v.addReturned("one", []string{"secret/of+one", "secret/of+one-and-more", "-----BEGIN PRIVATE KEY-----\none\n-----END PRIVATE KEY-----\n"})
	v.addFound("two", []string{"-----BEGIN PRIVATE KEY-----\ntwo\n-----END PRIVATE KEY-----\n"}, nil) // returned again
	v.addReturned("two", []string{"-----BEGIN PRIVATE KEY-----\ntwo\n-----END PRIVATE KEY-----\n"})
	v.addFound("one", nil, []string{"the bucket"})
	for name, tc := range map[string]struct{ account, said, want string }{
		"the account's own secret":              {"one", "x secret/of+one y", "x [redacted] y"},
		"that of another account":               {"two", "x secret/of+one y", "x [redacted] y"},
		"in a message about a bucket":           {"", "secret/of+one, secret/of+one", "[redacted], [redacted]"},
		"written in another way":                {"", "?sig=secret%2Fof%2Bone", "?sig=[redacted]"},
		"one that another one begins with":      {"", "secret/of+one-and-more", "[redacted]"},
		"one that looks like others at the end": {"", `"-----BEGIN PRIVATE KEY-----\ntwo\n-----END PRIVATE KEY-----\n"`, `"[redacted]"`},
		"a password in a URL":                   {"", "dial https://user:pw@host", "dial https://[redacted]@host"},
		"what only looks like one":              {"", "secret/of+two", "secret/of+two"},
		"text that a user wrote into a Secret":  {"one", "the bucket is deleted", "[redacted] is deleted"},
		"text of another account's user":        {"two", "the bucket is deleted", "the bucket is deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := v.redact(withAccount(t.Context(), &cosi.DriverRevokeBucketAccessRequest{AccountId: tc.account}), status.Error(codes.Internal, tc.said))
			if got := status.Convert(err); got.Message() != tc.want || got.Code() != codes.Internal {
				t.Errorf("want %s, got %v", tc.want, got)
			}
		})
	}
}
