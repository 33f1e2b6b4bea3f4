// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
)

// TestRegionsOfPartitions creates and grants a bucket in a region of each partition. Requests to hosts of the partition reach the fake,
// which has its regions, ARNs and the region in the signatures of IAM.
func TestRegionsOfPartitions(t *testing.T) {
	t.Parallel()
	for region, tc := range map[string]struct{ partition, domain string }{
		"eu-central-1": {"aws", "amazonaws.com"}, "cn-northwest-1": {"aws-cn", "amazonaws.com.cn"},
		"us-gov-east-1": {"aws-us-gov", "amazonaws.com"}, "eusc-de-east-1": {"aws-eusc", "amazonaws.eu"},
	} {
		t.Run(region, func(t *testing.T) {
			t.Parallel()
			host := "s3." + region + "." + tc.domain
			on, server := startFake(t, s3fake.Options{Partition: tc.partition, Region: region, Domains: []string{host}})
			address, err := url.Parse(server.URL())
			mustSucceed(t, err)
			toTheFake := func(next http.RoundTripper) http.RoundTripper {
				return transportFunc(func(request *http.Request) (*http.Response, error) {
					if !strings.HasSuffix(request.URL.Host, "."+tc.domain) {
						t.Errorf("a request to %s", request.URL.Host)
					}
					request = request.Clone(request.Context())
					request.Host, request.URL.Host, request.URL.Scheme = request.URL.Host, address.Host, address.Scheme
					return next.RoundTrip(request)
				})
			}
			w := newWorld(t, on, worldOptions{wrap: toTheFake, config: func(c *s3driver.Config) {
				c.Backends["main"] = s3driver.BackendConfig{Type: s3driver.TypeAWS, Region: region, Credentials: on.backend.Credentials}
			}})
			bucket := w.NewBucket(t, nil)
			granted := w.MustGrant(t, grantRequest(drivertest.NewAccount(), readWrite, bucket))
			if got := granted.GetBuckets()[0].GetBucketInfo().GetS3().GetEndpoint(); got != "https://"+host {
				t.Errorf("the endpoint is %s, want https://%s", got, host)
			}
		})
	}
}
