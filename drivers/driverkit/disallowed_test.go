// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestDisallowedModes(t *testing.T) {
	t.Parallel()
	const none, read, write, both = driverkit.Any, driverkit.ReadOnly, driverkit.WriteOnly, driverkit.ReadWrite
	for name, test := range map[string]struct {
		disallowed []driverkit.Mode
		// allowed are the modes that an account may have in effect.
		allowed []driverkit.Mode
	}{
		"nothing is disallowed":                  {nil, []driverkit.Mode{none, read, write, both}},
		"reading is part of reading and writing": {[]driverkit.Mode{read}, []driverkit.Mode{none, read, write, both}},
		"writing is part of reading and writing": {[]driverkit.Mode{write, read}, []driverkit.Mode{none, read, write, both}},
		"either is left, and both together not":  {[]driverkit.Mode{both}, []driverkit.Mode{none, read, write}},
		"reading is left":                        {[]driverkit.Mode{both, write}, []driverkit.Mode{none, read}},
		"writing is left":                        {[]driverkit.Mode{read, both}, []driverkit.Mode{none, write}},
		"nothing is left, so nothing is granted": {[]driverkit.Mode{read, write, both}, []driverkit.Mode{none}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			allowed := map[driverkit.Mode]bool{"": true}
			for _, mode := range test.allowed {
				allowed[mode] = true
			}
			for _, mode := range []driverkit.Mode{"", none, read, write, both} {
				for category, check := range map[string]error{
					"object data":     driverkit.DisallowedModes{ObjectData: test.disallowed}.Check(driverkit.BucketAccess{ObjectData: mode, BucketMetadata: both}),
					"object metadata": driverkit.DisallowedModes{ObjectMetadata: test.disallowed}.Check(driverkit.BucketAccess{ObjectMetadata: mode, ObjectData: both}),
					"bucket metadata": driverkit.DisallowedModes{BucketMetadata: test.disallowed}.Check(driverkit.BucketAccess{BucketMetadata: mode, ObjectData: both}),
				} {
					var refusal *driverkit.Error
					if got := check == nil; got != allowed[mode] || check != nil && (!errors.As(check, &refusal) || refusal.Code() != codes.InvalidArgument) {
						t.Errorf("%q for %s: %v, want allowed: %t", mode, category, check, allowed[mode])
					}
				}
			}
		})
	}
}

func TestModeWith(t *testing.T) {
	t.Parallel()
	const none, read, write, both = driverkit.Any, driverkit.ReadOnly, driverkit.WriteOnly, driverkit.ReadWrite
	for _, test := range []struct{ a, b, want driverkit.Mode }{
		{none, none, none},
		{"", none, none},
		{"", "", none},
		{none, read, read},
		{"", write, write},
		{read, read, read},
		{read, write, both},
		{both, read, both},
		{both, none, both},
		{write, "", write},
	} {
		if got, turned := test.a.With(test.b), test.b.With(test.a); got != test.want || turned != test.want {
			t.Errorf("%q with %q: %q and %q, want %q", test.a, test.b, got, turned, test.want)
		}
	}
}

// TestModesThatTheClassDisallows explicitly requests modes that the class disallows, which the Controller also
// rejects.
func TestModesThatTheClassDisallows(t *testing.T) {
	t.Parallel()
	client := drivertest.Serve(t, &stub{}, driverkit.Options{})
	request := grantRequest(func(r *cosi.DriverGrantBucketAccessRequest) {
		r.DisallowedAccessModes = &cosi.DisallowedAccessModes{ObjectData: []cosi.AccessMode_Mode{cosi.AccessMode_READ_WRITE}}
	})
	const says = "bucket bc-1: the class disallows access mode ReadWrite for object data; request another mode, or use another BucketAccessClass"
	_, err := client.DriverGrantBucketAccess(t.Context(), request)
	wantStatus(t, err, codes.InvalidArgument, says)
	_, err = client.DriverGenerateBucketAccessId(t.Context(), &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: "ba-1", Protocol: request.GetProtocol(), AuthenticationType: request.GetAuthenticationType(),
		Buckets: request.GetBuckets(), DisallowedAccessModes: request.GetDisallowedAccessModes(),
	})
	wantStatus(t, err, codes.InvalidArgument, says)
}

// TestKeepingDisallowedModesIsAnnounced reads the driver's info.
func TestKeepingDisallowedModesIsAnnounced(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		driver := &stub{info: func() driverkit.Info {
			info := (&stub{}).Info()
			info.KeepsDisallowedModes = keeps
			return info
		}}
		got, err := drivertest.Serve(t, driver, driverkit.Options{}).DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
		if err != nil || got.GetKeepsDisallowedAccessModes() != keeps {
			t.Errorf("%v, %v, want %t", got, err, keeps)
		}
	}
}
