// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/cooper-cosi/cooper/drivers/adapter/internal/vendor"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// TestLifecycle creates a bucket and an account, gets the same credential from a new process, and deletes both. The
// store then has no entries, and the log has no secret.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, generation memdriver.Generation) {
		s := newSystem(t, memdriver.Options{Speaks: generation, Defects: memdriver.With(memdriver.RotatesOnRepeat)})
		client := s.adapter(t, nil)
		generated, err := client.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Protocols: wanted})
		if err != nil || generated.GetBucketId() != "cosi/12345678/bc-1" {
			t.Fatalf("generate bucket ID: %v, %v", generated, err)
		}
		mustCreate(t, client, "bc-1")
		mustCreate(t, client, "bc-1")
		request := grantOf("ba-1", "cosi/12345678/bc-1")
		granted := client.MustGrant(t, request)
		if got := granted.GetBuckets()[0].GetBucketId(); got != "cosi/12345678/bc-1" {
			t.Errorf("the grant has bucket ID %q", got)
		}
		if diff := cmp.Diff(granted, s.adapter(t, nil).MustGrant(t, request), protocmp.Transform()); diff != "" {
			t.Errorf("a repeated grant in a new process (-first, +second):\n%s", diff)
		}
		if made := len(s.Calls(memdriver.CreateBucket)) + len(s.Calls(memdriver.GrantAccess)); made != 2 {
			t.Errorf("the driver got %d calls that create, want 2", made)
		}
		mustRevoke(t, client, request)
		mustRevoke(t, client, request)
		mustDelete(t, client, "cosi/12345678/bc-1")
		mustDelete(t, client, "cosi/12345678/bc-1")
		s.empty(t)
		secret := granted.GetCredentials().GetS3().GetAccessSecretKey()
		if log := s.log.String(); secret == "" || strings.Contains(log, secret) || !strings.Contains(log, "DriverGrantBucketAccess") {
			t.Errorf("no grant, or a secret, in the log:\n%s", log)
		}
	})
}

// TestRequests compares the requests that reach the driver with those of its specification.
func TestRequests(t *testing.T) {
	t.Parallel()
	t.Run("v1alpha1", func(t *testing.T) {
		t.Parallel()
		s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
		client := s.adapter(t, nil)
		mustCreate(t, client, "bc-1")
		request := grantOf("ba-1", "cosi/12345678/bc-1")
		request.Parameters = map[string]string{vendor.ModesParameter: "objectData=ReadWrite", "plan": "basic"}
		client.MustGrant(t, request)
		mustRevoke(t, client, request)
		want := []any{
			&v1alpha1.DriverCreateBucketRequest{Name: "bc-1", Parameters: map[string]string{"tier": "fast"}},
			&v1alpha1.DriverGrantBucketAccessRequest{BucketId: "old-bc-1", Name: "ba-1", AuthenticationType: v1alpha1.AuthenticationType_Key, Parameters: map[string]string{"plan": "basic"}},
			&v1alpha1.DriverRevokeBucketAccessRequest{BucketId: "old-bc-1", AccountId: "acct:ba-1", RevokeAccessContext: map[string]string{"plan": "basic"}},
		}
		if diff := cmp.Diff(want, s.requests(), protocmp.Transform()); diff != "" {
			t.Errorf("requests (-want, +got):\n%s", diff)
		}
	})
	t.Run("upstream", func(t *testing.T) {
		t.Parallel()
		s := newSystem(t, memdriver.Options{Speaks: memdriver.Upstream})
		client := s.adapter(t, nil)
		mustCreate(t, client, "bc-1")
		mustCreate(t, client, "bc-2")
		request := grantOf("ba-1", "cosi/12345678/bc-2", "cosi/12345678/bc-1")
		request.Buckets[0].ObjectDataAccessMode.Mode = cosi.AccessMode_READ_ONLY
		if granted := client.MustGrant(t, request); len(granted.GetBuckets()) != 2 {
			t.Errorf("the grant has the buckets %v", granted.GetBuckets())
		}
		got := memdriver.Requests[*upstream.DriverGrantBucketAccessRequest](s.Driver)
		want := []*upstream.DriverGrantBucketAccessRequest_AccessedBucket{
			{BucketId: "old-bc-1", AccessMode: &upstream.AccessMode{Mode: upstream.AccessMode_READ_WRITE}},
			{BucketId: "old-bc-2", AccessMode: &upstream.AccessMode{Mode: upstream.AccessMode_READ_ONLY}},
		}
		if len(got) != 1 || got[0].GetAccountName() != "ba-1" {
			t.Fatalf("want one grant by name, got %v", got)
		}
		if diff := cmp.Diff(want, got[0].GetBuckets(), protocmp.Transform()); diff != "" {
			t.Errorf("buckets (-want, +got):\n%s", diff)
		}
	})
}

// requests returns the requests that the driver got, except those of DriverGetInfo.
func (s *system) requests() []any {
	var requests []any
	for _, call := range s.Calls() {
		if call.RPC != memdriver.GetInfo {
			requests = append(requests, call.Request)
		}
	}
	return requests
}

// TestRefusals requests what a generation cannot express. Phase 1 refuses it, before there is an entry.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		generation memdriver.Generation
		change     func(*cosi.DriverGrantBucketAccessRequest)
		code       codes.Code
		message    string
	}{
		"v1alpha1: several buckets": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Buckets = append(r.Buckets, grantOf("", "cosi/12345678/bc-2").Buckets...)
		}, codes.OutOfRange, "grants access to one bucket, not to 2"},
		"v1alpha1: no declared modes": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Parameters = nil
		}, codes.InvalidArgument, "must set the parameter cooper.dev/access-modes of the BucketAccessClass to the modes"},
		"v1alpha1: another mode than the declared one": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Buckets[0].ObjectDataAccessMode.Mode = cosi.AccessMode_READ_ONLY
		}, codes.InvalidArgument, "not objectData=ReadOnly"},
		"v1alpha1: a mode that is not declared": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Buckets[0].BucketMetadataAccessMode = &cosi.AccessMode{Mode: cosi.AccessMode_READ_ONLY}
		}, codes.InvalidArgument, "not bucketMetadata=ReadOnly"},
		"v1alpha1: a disallowed mode": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.DisallowedAccessModes = &cosi.DisallowedAccessModes{ObjectData: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE}}
		}, codes.InvalidArgument, "which disallows it"},
		"v1alpha1: an invalid declaration": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Parameters = map[string]string{vendor.ModesParameter: "ReadWrite"}
		}, codes.InvalidArgument, "it must list the categories (objectData"},
		"v1alpha1: too many parameters": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Parameters = map[string]string{vendor.ModesParameter: "objectData=ReadWrite", "policy": strings.Repeat("p", 4<<10)}
		}, codes.InvalidArgument, "allows 4096"},
		"v1alpha1: a rotation": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Rotation = "1"
		}, codes.InvalidArgument, "cannot rotate a credential"},
		"v1alpha1: credentials for GCS": {memdriver.V1alpha1, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Protocol.Type = cosi.ObjectProtocol_GCS
		}, codes.InvalidArgument, "does not support credentials for protocol GCS"},
		"v1alpha1: a ServiceAccount": {memdriver.V1alpha1, byServiceAccount, codes.InvalidArgument, "does not support ServiceAccounts"},
		"upstream: a ServiceAccount": {memdriver.Upstream, byServiceAccount, codes.InvalidArgument, "does not support ServiceAccounts"},
		"upstream: modes that differ": {memdriver.Upstream, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.Buckets[0].BucketMetadataAccessMode = &cosi.AccessMode{Mode: cosi.AccessMode_READ_ONLY}
		}, codes.InvalidArgument, "objectData=ReadWrite and bucketMetadata=ReadOnly differ"},
		"upstream: a disallowed mode": {memdriver.Upstream, func(r *cosi.DriverGrantBucketAccessRequest) {
			r.DisallowedAccessModes = &cosi.DisallowedAccessModes{ObjectMetadata: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE}}
		}, codes.InvalidArgument, "disallows objectMetadata=ReadWrite"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: tc.generation})
			client, request := s.adapter(t, nil), grantOf("ba-1", "cosi/12345678/bc-1")
			tc.change(request)
			_, err := client.DriverGenerateBucketAccessId(t.Context(), &cosi.DriverGenerateBucketAccessIdRequest{
				AccountName: "ba-1", Protocol: request.Protocol, AuthenticationType: request.AuthenticationType, Parameters: request.Parameters,
				Buckets: request.Buckets, Rotation: request.Rotation, DisallowedAccessModes: request.DisallowedAccessModes,
				ServiceAccountName: request.ServiceAccountName, ServiceAccountNamespace: request.ServiceAccountNamespace,
			})
			drivertest.WantCode(t, err, tc.code, tc.message)
			_, err = client.DriverGrantBucketAccess(t.Context(), request)
			drivertest.WantCode(t, err, tc.code, tc.message)
			if calls := s.requests(); len(calls) > 0 {
				t.Errorf("the driver was called: %v", calls)
			}
			s.empty(t)
		})
	}
}

func byServiceAccount(r *cosi.DriverGrantBucketAccessRequest) {
	r.AuthenticationType.Type = cosi.AuthenticationType_SERVICE_ACCOUNT
	r.ServiceAccountName, r.ServiceAccountNamespace = "app", "team-a"
}

func TestBucketThatV1alpha1CannotExpress(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	_, err := s.adapter(t, nil).DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{
		Name: "bc-1", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_S3}, {Type: cosi.ObjectProtocol_AZURE}},
	})
	drivertest.WantCode(t, err, codes.InvalidArgument, "supports one protocol per bucket")
}

// TestOneBucketWithTwoIDs imports a bucket that the adapter created, or creates a bucket that is imported. Whatever is
// deleted first, the other one keeps its data.
func TestOneBucketWithTwoIDs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, generation memdriver.Generation) {
		s := newSystem(t, memdriver.Options{Speaks: generation})
		client := s.adapter(t, nil)

		mustCreate(t, client, "bc-1")
		drivertest.WantCode(t, imported(t.Context(), client, "old-bc-1"), codes.InvalidArgument, "set existingBucketID: cosi/12345678/bc-1")
		drivertest.WantCode(t, client.Delete(t, "old-bc-1", nil), codes.FailedPrecondition, "in use by ID cosi/12345678/bc-1")
		if err := imported(t.Context(), client, "cosi/12345678/bc-1"); err != nil {
			t.Errorf("import by the adapter's ID: %v", err)
		}
		drivertest.WantCode(t, imported(t.Context(), client, "cosi/12345678/bc-none"), codes.NotFound)
		mustDelete(t, client, "cosi/12345678/bc-1")
		s.empty(t)

		if err := s.AddBucket("old-bc-2"); err != nil {
			t.Fatal(err)
		}
		if err := imported(t.Context(), client, "old-bc-2"); err != nil {
			t.Fatal(err)
		}
		finds := foundAs(s, "old-bc-2")
		_, err := create(t.Context(), client, "bc-3")
		drivertest.WantCode(t, err, codes.AlreadyExists, "was imported, or created before the adapter was installed")
		mustDelete(t, client, "cosi/12345678/bc-3")
		finds()
		if err := s.RemoveBucket("old-bc-3"); err != nil { // the fake created it before the fault replaced the response
			t.Fatal(err)
		}
		if left := s.Inventory().Buckets; len(left) != 1 {
			t.Fatalf("the imported bucket was deleted with another one: %v", left)
		}
		if left := s.store.Accounts(); !slices.Equal(left, []string{"bucket-id old-bc-2"}) {
			t.Errorf("the store has %v, want only the import", left)
		}
	})
}

// TestNewNameForAnOlderBucket lets the driver return a bucket from before the adapter for a new name, after an access
// named the bucket. The deletion of the new name keeps the bucket.
func TestNewNameForAnOlderBucket(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*testing.T, *drivertest.Client){
		"granted": func(t *testing.T, client *drivertest.Client) {
			t.Helper()
			client.MustGrant(t, grantOf("ba-1", "old-bc-1"))
		},
		"revoked": func(t *testing.T, client *drivertest.Client) {
			t.Helper()
			older := grantOf("", "old-bc-1")
			older.AccountId = "older"
			mustRevoke(t, client, older)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
			client, a := s.process(t, nil)
			old := v1alpha1.NewProvisionerClient(drivertest.Dial(t, s.endpoint).Conn)
			if _, err := old.DriverCreateBucket(t.Context(), &v1alpha1.DriverCreateBucketRequest{Name: "bc-1"}); err != nil {
				t.Fatal(err)
			}
			call(t, client)
			if found, ok, err := a.Bucket(t.Context(), "old-bc-1"); ok || err != nil {
				t.Errorf("without a call, the driver reads %v, %v", found, err)
			}
			finds := foundAs(s, "old-bc-1")
			_, err := create(t.Context(), client, "bc-2")
			drivertest.WantCode(t, err, codes.AlreadyExists, "was imported, or created before the adapter was installed")
			mustDelete(t, client, "cosi/12345678/bc-2")
			finds()
			if err := s.RemoveBucket("old-bc-2"); err != nil { // the fake created it before the fault replaced the response
				t.Fatal(err)
			}
			if left := s.Inventory().Buckets; len(left) != 1 {
				t.Fatalf("the older bucket was deleted with the new name: %v", left)
			}
			mustRevoke(t, client, grantOf("ba-1", "old-bc-1"))
			mustDelete(t, client, "old-bc-1")
			s.empty(t)
		})
	}
}

// foundAs makes the driver return an ID for each created bucket or account, instead of creating one.
func foundAs(s *system, id string) (remove func()) {
	info := &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{BucketId: "shared", Endpoint: "https://s3.example.com", Region: "r"}}
	faults := []memdriver.Fault{{RPC: memdriver.CreateBucket, Times: memdriver.Always, Answer: &v1alpha1.DriverCreateBucketResponse{BucketId: id}}}
	if s.generation == memdriver.Upstream {
		faults[0].Answer = &upstream.DriverCreateBucketResponse{BucketId: id, Protocols: info}
	}
	return s.Script(faults...)
}

// TestTwoNamesForOneBucket lets a driver return one bucket for two names. The second name gets an error, and its
// deletion does not delete the bucket of the first.
func TestTwoNamesForOneBucket(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, generation memdriver.Generation) {
		s := newSystem(t, memdriver.Options{Speaks: generation})
		client := s.adapter(t, nil)
		mustCreate(t, client, "bc-1")
		finds := foundAs(s, "old-bc-1")
		_, err := create(t.Context(), client, "bc-2")
		drivertest.WantCode(t, err, codes.AlreadyExists, "had returned it for another name")
		mustDelete(t, client, "cosi/12345678/bc-2")
		finds()
		if err := s.RemoveBucket("old-bc-2"); err != nil { // the fake created it before the fault replaced the response
			t.Fatal(err)
		}
		if left := s.Inventory().Buckets; len(left) != 1 {
			t.Fatalf("the first bucket was deleted with the second: %v", left)
		}
		mustDelete(t, client, "cosi/12345678/bc-1")
		s.empty(t)
	})
}

// TestTwoNamesForOneAccount is TestTwoNamesForOneBucket for accounts. The second name may also be the driver's ID of the
// first account.
func TestTwoNamesForOneAccount(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"acct:ba-1", "ba-2"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
			client := s.adapter(t, nil)
			mustCreate(t, client, "bc-1")
			first, second := grantOf("ba-1", "cosi/12345678/bc-1"), grantOf("ba-2", "cosi/12345678/bc-1")
			remove := s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Times: memdriver.Always, Answer: &v1alpha1.DriverGrantBucketAccessResponse{AccountId: id}})
			_, err := client.DriverGrantBucketAccess(t.Context(), first)
			drivertest.WantCode(t, err, codes.Internal, "invalid response") // but it has an ID
			_, err = client.DriverGrantBucketAccess(t.Context(), second)
			drivertest.WantCode(t, err, codes.AlreadyExists, "had returned it for another name")
			mustRevoke(t, client, second)
			remove()
			for _, call := range s.Calls(memdriver.RevokeAccess) {
				if call.ID == id {
					t.Errorf("the account of the first was revoked: %v", call)
				}
			}
			mustRevoke(t, client, first)
		})
	}
}

// TestBucketsOfOlderSidecars deletes and revokes by the driver's own IDs, which an older sidecar stored.
func TestBucketsOfOlderSidecars(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	old := v1alpha1.NewProvisionerClient(drivertest.Dial(t, s.endpoint).Conn)
	if _, err := old.DriverCreateBucket(t.Context(), &v1alpha1.DriverCreateBucketRequest{Name: "bc-1"}); err != nil {
		t.Fatal(err)
	}
	account, err := old.DriverGrantBucketAccess(t.Context(), &v1alpha1.DriverGrantBucketAccessRequest{
		BucketId: "old-bc-1", Name: "ba-old", AuthenticationType: v1alpha1.AuthenticationType_Key,
	})
	if err != nil {
		t.Fatal(err)
	}
	client := s.adapter(t, nil)
	described, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "old-bc-1", Protocols: wanted})
	if err != nil || described.GetProtocols().GetS3().GetBucketId() != "old-bc-1" {
		t.Errorf("a bucket whose status was lost: %v, %v", described, err)
	}
	granted := grantOf("", "old-bc-1")
	granted.AccountId = cosi.EscapeID(account.GetAccountId())
	_, err = client.DriverGrantBucketAccess(t.Context(), granted)
	drivertest.WantCode(t, err, codes.FailedPrecondition, "delete the BucketAccess and create it again")
	later := grantOf("ba-1", "old-bc-1")
	client.MustGrant(t, later)
	mustRevoke(t, client, later)
	mustRevoke(t, client, granted)
	mustDelete(t, client, "old-bc-1")
	s.empty(t)
}

// TestDriversErrors passes codes and messages on, and keeps the entry unless the driver refused the request.
func TestDriversErrors(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, generation memdriver.Generation) {
		s := newSystem(t, memdriver.Options{Speaks: generation})
		client := s.adapter(t, nil)
		for _, code := range []codes.Code{codes.Unknown, codes.Internal, codes.InvalidArgument, codes.OutOfRange} {
			s.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: code, Message: "at https://me:secret@store"})
			_, err := create(t.Context(), client, "bc-1")
			drivertest.WantCode(t, err, code, "at https://")
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a password is in %v", err)
			}
			kept := code != codes.InvalidArgument && code != codes.OutOfRange
			if entries := s.store.Accounts(); slices.Contains(entries, "bucket bc-1") != kept && code != codes.InvalidArgument {
				t.Errorf("after %s the store has %v", code, entries)
			}
			if !kept {
				mustDelete(t, client, "cosi/12345678/bc-1")
			}
		}
		s.empty(t)

		s.Script(memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.NotFound, Message: "gone"})
		mustCreate(t, client, "bc-1")
		err := client.Delete(t, "cosi/12345678/bc-1", nil)
		if generation == memdriver.V1alpha1 && err != nil || generation == memdriver.Upstream && status.Code(err) != codes.NotFound {
			t.Errorf("a bucket that the driver does not find: %v", err)
		}
	})
}

// TestRefusedAfterALostResponse deletes a bucket whose creation the driver refuses when it is repeated.
func TestRefusedAfterALostResponse(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client := s.adapter(t, nil)
	s.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.Unavailable}, memdriver.Fault{RPC: memdriver.CreateBucket, Times: 2, Code: codes.OutOfRange})
	_, err := create(t.Context(), client, "bc-1")
	drivertest.WantCode(t, err, codes.Unavailable)
	_, err = create(t.Context(), client, "bc-1")
	drivertest.WantCode(t, err, codes.OutOfRange)
	mustDelete(t, client, "cosi/12345678/bc-1")
	s.empty(t)
}

// TestChangedRequest repeats requests with other contents.
func TestChangedRequest(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.Upstream})
	client := s.adapter(t, nil)
	mustCreate(t, client, "bc-1")
	mustCreate(t, client, "bc-2")
	_, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: "cosi/12345678/bc-1"})
	drivertest.WantCode(t, err, codes.AlreadyExists, "other protocols or parameters")
	client.MustGrant(t, grantOf("ba-1", "cosi/12345678/bc-1", "cosi/12345678/bc-2"))
	client.MustGrant(t, grantOf("ba-1", "cosi/12345678/bc-2", "cosi/12345678/bc-1"))
	_, err = client.DriverGrantBucketAccess(t.Context(), grantOf("ba-1", "cosi/12345678/bc-1"))
	drivertest.WantCode(t, err, codes.AlreadyExists, "other buckets, modes or parameters")
	_, err = client.DriverGrantBucketAccess(t.Context(), grantOf("ba-2", "cosi/12345678/bc-3"))
	drivertest.WantCode(t, err, codes.NotFound, "bucket cosi/12345678/bc-3 does not exist")
}

// TestInvalidResponses lets the driver violate its contract once. The next call completes the work.
func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client := s.adapter(t, nil)
	s.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Answer: &v1alpha1.DriverCreateBucketResponse{}})
	_, err := create(t.Context(), client, "bc-1")
	drivertest.WantCode(t, err, codes.Internal, "its ID has 0 bytes")
	mustCreate(t, client, "bc-1")
	s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: &v1alpha1.DriverGrantBucketAccessResponse{AccountId: "acct:ba-1"}})
	request := grantOf("ba-1", "cosi/12345678/bc-1")
	_, err = client.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.Internal, "invalid response to DriverGrantBucketAccess")
	s.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: &v1alpha1.DriverGrantBucketAccessResponse{AccountId: "acct:other"}})
	_, err = client.DriverGrantBucketAccess(t.Context(), request)
	drivertest.WantCode(t, err, codes.Internal, "invalid response to DriverGrantBucketAccess")
	client.MustGrant(t, request)
	if revokes := len(s.Calls(memdriver.RevokeAccess)); revokes != 2 {
		t.Errorf("the driver got %d revokes of accounts that were not delivered, want 2", revokes)
	}
	mustRevoke(t, client, request)
	mustDelete(t, client, "cosi/12345678/bc-1")
	s.empty(t)
}

// TestRevokeErrorWithASecret lets the driver quote a credential in an error.
func TestRevokeErrorWithASecret(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client, request := s.adapter(t, nil), grantOf("ba-1", "cosi/12345678/bc-1")
	mustCreate(t, client, "bc-1")
	secret := client.MustGrant(t, request).GetCredentials().GetS3().GetAccessSecretKey()
	s.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Internal, Message: "cannot delete key " + secret})
	drivertest.WantCode(t, client.Revoke(t, request), codes.Internal, "cannot delete key [redacted]")
	if strings.Contains(s.log.String(), secret) {
		t.Error("the secret is in the log")
	}
}

// TestDriverIDThatBeginsLikeAnAdapterID imports a bucket whose own ID has the prefix of the adapter's IDs.
func TestDriverIDThatBeginsLikeAnAdapterID(t *testing.T) {
	t.Parallel()
	for id, ours := range map[string]bool{"cosi/12345678/bc-1": true, "cosi/photos": false, "photos": false} {
		if _, got := nameOf(id); got != ours {
			t.Errorf("nameOf(%q) reports %t, want %t", id, got, ours)
		}
	}
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	if err := imported(t.Context(), s.adapter(t, nil), "cosi/photos"); err != nil {
		t.Error(err)
	}
}

// TestLostStore replaces the store. The IDs of the lost one are refused, because nothing shows what the driver has.
func TestLostStore(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client, request := s.adapter(t, nil), grantOf("ba-1", "cosi/12345678/bc-1")
	mustCreate(t, client, "bc-1")
	client.MustGrant(t, request)
	entries := s.store
	lost, ok := credentials.NewMemory().(memory)
	if !ok {
		t.Fatal("the store in memory does not list its entries")
	}
	s.store = lost
	without := s.adapter(t, nil)
	_, created := create(t.Context(), without, "bc-1")
	_, granted := without.DriverGrantBucketAccess(t.Context(), request)
	for call, err := range map[string]error{
		"create": created, "import": imported(t.Context(), without, "cosi/12345678/bc-1"), "delete": without.Delete(t, "cosi/12345678/bc-1", nil),
		"grant": granted, "revoke": without.Revoke(t, request),
	} {
		t.Log(call)
		drivertest.WantCode(t, err, codes.FailedPrecondition, "credential store lost", "restore the Secrets of the driver's namespace")
	}
	generated, err := without.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-2", Protocols: wanted})
	if id := generated.GetBucketId(); err != nil || id == idPrefix+"bc-2" {
		t.Errorf("an ID of another store: %s, %v", id, err)
	}
	if left := lost.Accounts(); len(left) > 0 {
		t.Errorf("the store has %v", left)
	}
	s.store = entries
	cleanUp(t, s)
}

// TestUnavailableDriver stops the driver behind a running adapter and starts it again.
func TestUnavailableDriver(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client := s.adapter(t, nil)
	if err := s.server.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
	drivertest.WantCode(t, err, codes.Unavailable)
	_, err = create(t.Context(), client, "bc-1")
	drivertest.WantCode(t, err, codes.Unavailable)
	s.serve(t)
	for err = errNone; err != nil; { // the call fails at once until the adapter has reconnected
		_, err = create(t.Context(), client, "bc-1")
		if code := status.Code(err); err != nil && code != codes.Unavailable {
			t.Fatal(err)
		}
	}
}

// TestAnotherDriver replaces the driver by one with another name.
func TestAnotherDriver(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Speaks: memdriver.V1alpha1})
	client := s.adapter(t, nil)
	s.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Name = "other.example.com" })
	_, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
	drivertest.WantCode(t, err, codes.FailedPrecondition, `"other.example.com", but the adapter serves "memory.cooper.dev"`)
}

// TestConnectWaits connects to drivers that do not implement the contract, and logs why it waits.
func TestConnectWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		speaks   memdriver.Generation
		contract string
		want     string
	}{
		"v1alpha2 as v1alpha1": {"", V1alpha1, "check --driver-contract"},
		"v1alpha1 as upstream": {memdriver.V1alpha1, Upstream, "check --driver-contract"},
		"v1alpha2 as upstream": {"", Upstream, "connect the sidecar to it without an adapter"},
		"upstream as v1alpha1": {memdriver.Upstream, V1alpha1, "check --driver-contract"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{Speaks: tc.speaks})
			ctx, cancel := context.WithCancel(t.Context())
			log := &waiting{cancel: cancel}
			driver, err := Connect(ctx, Options{Address: s.endpoint, Contract: tc.contract, Logger: log.logger()})
			if driver != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Connect = %v, %v; want %q", driver, err, tc.want)
			}
		})
	}
	for _, options := range []Options{{Address: "tcp://x", Contract: V1alpha1}, {Address: "unix:///x.sock", Contract: "v2"}} {
		if _, err := Connect(t.Context(), options); err == nil {
			t.Errorf("Connect(%+v) succeeded", options)
		}
	}
}
