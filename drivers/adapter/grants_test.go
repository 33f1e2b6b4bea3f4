// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// azureAccess returns an adapter for the fake, whose bucket bc-1 has protocol Azure, and the request for an account. The
// fake returns no data for the bucket, as many released drivers do.
func azureAccess(t *testing.T, s *system) (*drivertest.Client, *cosi.DriverGrantBucketAccessRequest) {
	t.Helper()
	client, request := s.adapter(t, nil), grantOf("ba-1", "cosi/12345678/bc-1")
	request.Protocol.Type = cosi.ObjectProtocol_AZURE
	s.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Answer: &v1alpha1.DriverCreateBucketResponse{BucketId: "bc-1"}})
	if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{
		BucketId: "cosi/12345678/bc-1", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}},
	}); err != nil {
		t.Fatal(err)
	}
	return client, request
}

// TestAccessWithAnotherProtocol requests an Azure credential from a driver that returns only those of S3, and fails
// if the account exists. The account is revoked before each repeated grant.
func TestAccessWithAnotherProtocol(t *testing.T) {
	t.Parallel()
	fake := difficult["fails"]
	fake.Speaks = memdriver.V1alpha1
	s := newSystem(t, fake)
	client, request := azureAccess(t, s)
	for range 3 {
		_, err := client.DriverGrantBucketAccess(t.Context(), request)
		drivertest.WantCode(t, err, codes.Internal, "invalid response to DriverGrantBucketAccess")
	}
	if grants, revokes := len(s.Calls(memdriver.GrantAccess)), len(s.Calls(memdriver.RevokeAccess)); grants != 3 || revokes != 2 {
		t.Errorf("the driver got %d grants and %d revokes, want 3 and 2", grants, revokes)
	}
	mustRevoke(t, client, request)
	mustDelete(t, client, "cosi/12345678/bc-1")
	s.empty(t)
}

// TestRevokeBeforeAGrantFails lets the driver fail at the revoke before a repeated grant. The grant continues only if the
// driver may mean that the account does not exist.
func TestRevokeBeforeAGrantFails(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]codes.Code{
		codes.Unavailable: codes.Unavailable, codes.DeadlineExceeded: codes.DeadlineExceeded, codes.Internal: codes.OK, codes.NotFound: codes.OK,
		codes.InvalidArgument: codes.OK,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1, NamesAsIDs: true})
			client, request := s.adapter(t, nil), grantOf("ba-1", "cosi/12345678/bc-1")
			mustCreate(t, client, "bc-1")
			s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Internal}, memdriver.Fault{RPC: memdriver.RevokeAccess, Code: code})
			_, err := client.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, codes.Internal)
			if _, err = client.DriverGrantBucketAccess(t.Context(), request); status.Code(err) != want {
				t.Errorf("the repeated grant returned %v, want %s", err, want)
			}
			cleanUp(t, s)
		})
	}
}

// TestFormerLeaderRepeatsAGrant pauses a repeated grant before its first call, while another process completes the grant.
// The credential that the other process delivered still works.
func TestFormerLeaderRepeatsAGrant(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1, NamesAsIDs: true})
	successor, request := s.adapter(t, nil), grantOf("ba-1", "cosi/12345678/bc-1")
	mustCreate(t, successor, "bc-1")
	s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Internal})
	_, err := successor.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.Internal)
	former := s.adapter(t, drivertest.Paused(1, func() { successor.MustGrant(t, request) }))
	_, err = former.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.Aborted)
	s.keepsCredential(t, successor)
}

// TestEachWriteChangesTheVersion writes an entry without changes to a directory, whose versions depend on the content.
func TestEachWriteChangesTheVersion(t *testing.T) {
	t.Parallel()
	store, err := credentials.OpenDirectory(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	e := &bucketEntry{key: bucketKind.named("bc-1"), name: "bc-1"}
	if err := writeEntry(t.Context(), store, e); err != nil {
		t.Fatal(err)
	}
	former := *e
	if err := writeEntry(t.Context(), store, e); err != nil {
		t.Fatal(err)
	}
	if code := status.Code(writeEntry(t.Context(), store, &former)); code != codes.Aborted {
		t.Errorf("a write of a version that was read earlier returned %s, want Aborted", code)
	}
}

// TestExpiringCredential repeats the grant of a credential that expires. The driver is called again, without a revoke.
func TestExpiringCredential(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1, NamesAsIDs: true})
	client, request := azureAccess(t, s)
	token := func(n int) string { return fmt.Sprintf("https://account.blob.example.com/bc-1?sig=%d", n) }
	for n := range 3 {
		s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: &v1alpha1.DriverGrantBucketAccessResponse{AccountId: "ba-1", Credentials: map[string]*v1alpha1.CredentialDetails{
			v1alpha1.ProtocolAzure: {Secrets: map[string]string{
				v1alpha1.KeyAccessToken: token(n), v1alpha1.KeyExpiry: v1alpha1.FormatExpiry(time.Now().Add(time.Hour)),
			}},
		}}})
		if got := client.MustGrant(t, request).GetCredentials().GetAzure().GetAccessToken(); got != token(n) {
			t.Errorf("grant %d returned the token %s, want %s", n, got, token(n))
		}
		s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Internal})
		_, err := client.DriverGrantBucketAccess(t.Context(), request)
		drivertest.WantCode(t, err, codes.Internal)
	}
	if revokes := s.Calls(memdriver.RevokeAccess); len(revokes) > 0 {
		t.Errorf("the driver was called to revoke: %v", revokes)
	}
	mustRevoke(t, client, request)
	mustDelete(t, client, "cosi/12345678/bc-1")
	s.empty(t)
}
