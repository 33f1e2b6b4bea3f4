// SPDX-License-Identifier: Apache-2.0

package drivertest

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Limited is an access of a class that disallows some modes.
type Limited struct {
	Asked      Modes
	Disallowed *cosi.DisallowedAccessModes
	// Refused means that the store cannot separate the requested modes from the disallowed ones.
	Refused bool
}

// Try is one operation that a workload attempts with its credential.
type Try struct {
	Name string
	// Category is the category of the operation, and Mode the mode that it needs: READ_ONLY or WRITE_ONLY.
	Category Category
	Mode     cosi.AccessMode_Mode
	Do       func(t *testing.T) error
}

// Category is one category of access modes.
type Category int

// The categories of access modes.
const (
	ObjectData Category = iota
	ObjectMetadata
	BucketMetadata
)

// WithDisallowed returns the request as a sidecar sends it for a class that disallows modes.
func WithDisallowed(request *cosi.DriverGrantBucketAccessRequest, disallowed *cosi.DisallowedAccessModes) *cosi.DriverGrantBucketAccessRequest {
	request.DisallowedAccessModes = disallowed
	return request
}

// WantLimited grants the access and runs all tries with the credential. Operations of the requested modes must work.
// In each category, operations that no allowed mode includes must fail. WantLimited passes the response to the grant to
// the function tries, which returns the operations.
func (c *Client) WantLimited(
	t *testing.T, limited Limited, request *cosi.DriverGrantBucketAccessRequest, tries func(*cosi.DriverGrantBucketAccessResponse) []Try,
) {
	t.Helper()
	request = WithDisallowed(request, limited.Disallowed)
	granted, err := c.DriverGrantBucketAccess(t.Context(), request)
	if got := status.Code(err) == codes.InvalidArgument; got != limited.Refused {
		t.Errorf("the response to the grant is %v, expected rejection: %t", err, limited.Refused)
	}
	_, idErr := c.DriverGenerateBucketAccessId(t.Context(), &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: NewAccount(), Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(), Parameters: request.GetParameters(),
		ServiceAccountName: request.GetServiceAccountName(), ServiceAccountNamespace: request.GetServiceAccountNamespace(),
		Buckets: request.GetBuckets(), DisallowedAccessModes: request.GetDisallowedAccessModes(),
	})
	if got := status.Code(idErr) == codes.InvalidArgument; got != limited.Refused {
		t.Errorf("the response to phase 1 is %v, expected rejection: %t", idErr, limited.Refused)
	}
	if err != nil {
		return
	}
	asked := []cosi.AccessMode_Mode{limited.Asked.Data, limited.Asked.ObjectMetadata, limited.Asked.BucketMetadata}
	disallowed := [][]cosi.AccessMode_Mode{
		limited.Disallowed.GetObjectData(), limited.Disallowed.GetObjectMetadata(), limited.Disallowed.GetBucketMetadata(),
	}
	for _, try := range tries(granted) {
		err := try.Do(t)
		if err != nil && includes(asked[try.Category], try.Mode) {
			t.Errorf("%s was requested, but fails: %v", try.Name, err)
		}
		if err == nil && !leaves(disallowed[try.Category], try.Mode) {
			t.Errorf("%s works, although the class disallows %v", try.Name, disallowed[try.Category])
		}
	}
}

// leaves reports whether a mode that is not disallowed includes the given one, reading or writing.
func leaves(disallowed []cosi.AccessMode_Mode, mode cosi.AccessMode_Mode) bool {
	for _, left := range []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE, cosi.AccessMode_READ_ONLY, cosi.AccessMode_WRITE_ONLY} {
		if !slices.Contains(disallowed, left) && includes(left, mode) {
			return true
		}
	}
	return false
}

func includes(mode, part cosi.AccessMode_Mode) bool {
	return mode == part || mode == cosi.AccessMode_READ_WRITE
}
