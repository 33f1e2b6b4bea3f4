// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestBucketUpdate checks that a driver announces its changeable parameters, and receives only valid changes of them. It
// no longer accepts the value of the parameter tier with which the bucket was created.
func TestBucketUpdate(t *testing.T) {
	t.Parallel()
	received := make(chan *driverkit.BucketUpdate, 1)
	driver := &stub{create: func(_ context.Context, r driverkit.CreateBucketRequest) (driverkit.BucketInfo, error) {
		received <- r.Update
		return bucketInfo(), nil
	}}
	info := driver.Info()
	info.BucketParameters = driverkit.Parameters{
		"tier": {Check: driverkit.OneOf("hot", "cold")}, "region": {Required: true}, "owner": {Required: true, Changeable: true}, "quota": {Check: driverkit.Integer(1, 9), Changeable: true}, "days": {Changeable: true},
	}
	driver.info = func() driverkit.Info { return info }
	client := drivertest.Serve(t, driver, driverkit.Options{})
	answer, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"days", "owner", "quota"}, answer.GetChangeableBucketParameters()); diff != "" {
		t.Errorf("changeable parameters (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		changed    []string
		parameters map[string]string
		code       codes.Code
		text       string
	}{
		"a value":                              {[]string{"quota"}, map[string]string{"tier": "warm", "owner": "a", "quota": "2"}, codes.OK, ""},
		"a removed parameter":                  {[]string{"quota", "days"}, map[string]string{"tier": "warm", "owner": "a"}, codes.OK, ""},
		"a value that is refused":              {[]string{"quota"}, map[string]string{"tier": "warm", "owner": "a", "quota": "10"}, codes.InvalidArgument, "parameter quota is"},
		"a required parameter that is removed": {[]string{"owner"}, map[string]string{"tier": "warm", "quota": "1"}, codes.InvalidArgument, "parameter owner is required"},
		"a parameter that is fixed":            {[]string{"tier"}, map[string]string{"tier": "cold", "owner": "a", "quota": "1"}, codes.InvalidArgument, "parameter tier cannot be changed"},
	} {
		_, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{
			BucketId: "bc-1", Parameters: map[string]string{"tier": "warm", "owner": "a", "quota": "1"},
			Update: &cosi.BucketUpdate{Changed: tc.changed, Parameters: tc.parameters},
		})
		drivertest.WantCode(t, err, tc.code, tc.text)
		if tc.code != codes.OK {
			continue
		}
		if got := <-received; got == nil || len(got.Changed) != len(tc.changed) || !cmp.Equal(map[string]string(got.Parameters), tc.parameters) {
			t.Errorf("%s: the driver received %+v", name, got)
		}
	}
}
