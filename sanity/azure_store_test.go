// SPDX-License-Identifier: Apache-2.0

package sanity_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// azureStore is a container with one object in a store that enforces signatures.
type azureStore struct {
	endpoint  string
	key       *container.SharedKeyCredential
	container *container.Client
}

func startAzure(t *testing.T) azureStore {
	t.Helper()
	server := faketest.Start(t, azurefake.New, azurefake.Options{})
	secret, _ := server.Keys(azurefake.DefaultAccount)
	key, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, secret)
	if err != nil {
		t.Fatal(err)
	}
	s := azureStore{endpoint: server.AccountURL(azurefake.DefaultAccount), key: key}
	if s.container, err = container.NewClientWithSharedKeyCredential(s.endpoint+"/bc-1", key, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.container.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.put(t)
	return s
}

func (s azureStore) put(t *testing.T) {
	t.Helper()
	if _, err := s.container.NewBlockBlobClient("dir/object").Upload(t.Context(), body{strings.NewReader("contents")}, nil); err != nil {
		t.Fatal(err)
	}
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// token is a service SAS of the container.
func (s azureStore) token(t *testing.T, values sas.BlobSignatureValues) string {
	t.Helper()
	values.ContainerName = "bc-1"
	query, err := values.SignWithSharedKey(s.key)
	if err != nil {
		t.Fatal(err)
	}
	return query.Encode()
}

func (s azureStore) attempt(token string, action sanity.Action) sanity.Attempt {
	attempt := sanity.Attempt{
		BucketID: "bc-1", Info: &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: azurefake.DefaultAccount}},
		Action: action, Key: "dir/object", Body: []byte("contents"),
	}
	if token != "" {
		attempt.Credentials = &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: token}}
	}
	return attempt
}

var allActions = []sanity.Action{
	sanity.PutObject, sanity.GetObject, sanity.ListObjects, sanity.DeleteObject, sanity.SetObjectTags, sanity.GetObjectTags,
	sanity.GetBucketTags, sanity.DeleteBucket, sanity.SetBucketPolicy,
}

// TestAzureProberOnAStoreThatEnforces attempts every action with each kind of signature.
//
//nolint:paralleltest,tparallel // the signatures share the object
func TestAzureProberOnAStoreThatEnforces(t *testing.T) {
	t.Parallel()
	s := startAzure(t)
	in := time.Now().Add(time.Hour)
	one := func(permissions string) string {
		return s.token(t, sas.BlobSignatureValues{Permissions: permissions, ExpiryTime: in})
	}
	tests := map[string]struct {
		token   string
		allowed []sanity.Action
	}{
		"read and write": {
			one("rwdl"), []sanity.Action{sanity.PutObject, sanity.GetObject, sanity.ListObjects, sanity.DeleteObject, sanity.SetObjectTags, sanity.GetObjectTags},
		},
		"read only":             {one("r"), []sanity.Action{sanity.GetObject, sanity.GetObjectTags}},
		"read and list":         {one("rl"), []sanity.Action{sanity.GetObject, sanity.ListObjects, sanity.GetObjectTags}},
		"write only":            {one("cw"), []sanity.Action{sanity.PutObject, sanity.SetObjectTags}},
		"delete only":           {one("d"), []sanity.Action{sanity.DeleteObject}},
		"the complete URI":      {s.endpoint + "/bc-1?" + one("r"), []sanity.Action{sanity.GetObject, sanity.GetObjectTags}},
		"a truncated signature": {strings.TrimSuffix(one("rwdl"), "D") + "x", nil},
		"an expired signature":  {s.token(t, sas.BlobSignatureValues{Permissions: "rwdl", ExpiryTime: time.Now().Add(-time.Hour)}), nil},
		"nothing":               {"", nil},
		"a missing policy":      {s.token(t, sas.BlobSignatureValues{Identifier: "absent"}), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			prober := sanity.Probers(sanity.ProberOptions{AzureEndpoint: s.endpoint})[cosi.ObjectProtocol_AZURE]
			var allowed []sanity.Action
			for _, action := range allActions {
				s.put(t)
				outcome, err := prober.Try(t.Context(), s.attempt(tc.token, action))
				if err != nil {
					t.Errorf("%s: %v", action, err)
					continue
				}
				if outcome.Verdict == sanity.Missing {
					t.Errorf("%s: the object exists, but the verdict is %s", action, outcome.Detail)
				}
				if outcome.Verdict == sanity.Allowed {
					allowed = append(allowed, action)
				}
			}
			if diff := cmp.Diff(tc.allowed, allowed); diff != "" {
				t.Errorf("allowed actions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAzureProberSeesARevocation removes the stored policy that a token refers to.
func TestAzureProberSeesARevocation(t *testing.T) {
	t.Parallel()
	s := startAzure(t)
	policy := &container.SignedIdentifier{ID: to.Ptr("ba-1"), AccessPolicy: &container.AccessPolicy{
		Expiry: to.Ptr(time.Now().Add(time.Hour)), Permission: to.Ptr("rl"),
	}}
	set := func(policies ...*container.SignedIdentifier) {
		t.Helper()
		if _, err := s.container.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{ContainerACL: policies}); err != nil {
			t.Fatal(err)
		}
	}
	set(policy)
	token := s.token(t, sas.BlobSignatureValues{Identifier: "ba-1"})
	prober := sanity.Probers(sanity.ProberOptions{AzureEndpoint: s.endpoint})[cosi.ObjectProtocol_AZURE]
	outcome, err := prober.Try(t.Context(), s.attempt(token, sanity.ListObjects))
	if err != nil || outcome.Verdict != sanity.Allowed || !cmp.Equal(outcome.Keys, []string{"dir/object"}) {
		t.Fatalf("want a list of one object, got %v %q, %v", outcome.Verdict, outcome.Keys, err)
	}
	if outcome, err = prober.Try(t.Context(), s.attempt(token, sanity.GetObject)); err != nil || string(outcome.Body) != "contents" {
		t.Errorf("want the contents, got %q, %v", outcome.Body, err)
	}
	set()
	if outcome, err = prober.Try(t.Context(), s.attempt(token, sanity.GetObject)); err != nil || outcome.Verdict != sanity.Refused {
		t.Errorf("want a denial after the deletion of the policy, got %v, %v", outcome.Verdict, err)
	}
}

// TestAzureProberKnowsPublicAccessNotPermitted has a store that responds like an account without public access.
func TestAzureProberKnowsPublicAccessNotPermitted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Ms-Error-Code", "PublicAccessNotPermitted")
		w.WriteHeader(http.StatusConflict)
	}))
	t.Cleanup(server.Close)
	prober := sanity.Probers(sanity.ProberOptions{AzureEndpoint: server.URL})[cosi.ObjectProtocol_AZURE]
	outcome, err := prober.Try(t.Context(), azureStore{}.attempt("", sanity.GetObject))
	if err != nil || outcome.Verdict != sanity.Refused {
		t.Errorf("want a denial, got %v, %v", outcome.Verdict, err)
	}
}
