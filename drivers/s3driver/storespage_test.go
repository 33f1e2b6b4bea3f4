// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// runningStore has the tests of conformance look at one store that runs, and at nothing else.
var runningStore = flag.String("store", "", "type=endpoint of a store that runs, such as rgw=https://rgw.example.com; the key of the driver is in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

// running is the store that the flag names.
func running(t *testing.T) target {
	t.Helper()
	kind, endpoint, found := strings.Cut(*runningStore, "=")
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if !found || id == "" || secret == "" {
		t.Fatal("-store wants type=endpoint, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the driver")
	}
	on := adminTarget(s3driver.BackendType(kind), endpoint, id, secret)
	on.name, on.version = endpoint, "as it runs"
	on.backend.Insecure = strings.HasPrefix(endpoint, "http://")
	return on
}

// row finds out what the store can do, by trying.
func (on target) row(t *testing.T, report sanity.Report) storestest.Row {
	t.Helper()
	w := newWorld(t, on, worldOptions{})
	own, other := w.NewBucket(t, nil), w.NewBucket(t, nil)
	found := storestest.Row{
		Store: on.name, Version: on.version, Driver: "S3, `" + string(on.backend.Type) + "`",
		Suite: fmt.Sprintf("MUST %s, SHOULD %s", report.Count(sanity.Must), report.Count(sanity.Should)),
		TLS:   storestest.YesNo(on.secure != nil || strings.HasPrefix(on.backend.Endpoint, "https:")),
	}
	if on.secure != nil {
		testTLS(t, on.secure(t))
	}
	found.SeveralBuckets = storestest.YesNo(w.reaches(t, readWrite, own, other))
	found.Accounts, found.Modes = w.accounts(t, own), w.modes(t, own)
	found.Rotation = storestest.YesNo(w.rotates(t, own))
	found.Quotas = storestest.YesNo(w.limits(t))
	// What the tests of service accounts have there.
	found.ServiceAccounts = storestest.YesNo(slices.Contains(on.can, serviceAccounts))
	for _, bucket := range []string{own, other} {
		mustSucceed(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
	}
	return found
}

// with lets f use an access and revokes it.
func (w *world) with(t *testing.T, modes drivertest.Modes, buckets []string, f func(client *s3.Client)) *s3.Client {
	t.Helper()
	account := drivertest.NewAccount()
	client := workload(t, w.MustGrant(t, grantRequest(account, modes, buckets...)))
	f(client)
	mustSucceed(t, w.revoke(t, account, buckets...))
	return client
}

func (w *world) reaches(t *testing.T, modes drivertest.Modes, buckets ...string) bool {
	t.Helper()
	all := true
	w.with(t, modes, buckets, func(client *s3.Client) {
		for _, bucket := range buckets {
			all = all && putObject(t, client, bucket, "key") == nil
		}
	})
	return all
}

// accounts says whether the key of one access ends with it, and another one's does not.
func (w *world) accounts(t *testing.T, bucket string) string {
	t.Helper()
	says := "one for all"
	w.with(t, readWrite, []string{bucket}, func(stays *s3.Client) {
		gone := w.with(t, readWrite, []string{bucket}, func(*s3.Client) {})
		if putObject(t, gone, bucket, "key") != nil && putObject(t, stays, bucket, "key") == nil {
			says = "one for each access"
		}
	})
	return says
}

// modes lists what can be granted without the rest.
func (w *world) modes(t *testing.T, bucket string) string {
	t.Helper()
	mustSucceed(t, putObject(t, w.root(), bucket, "given"))
	var works []string
	for _, mode := range []struct {
		name     string
		modes    drivertest.Modes
		get, put bool
	}{
		{"read", drivertest.Modes{Data: cosi.AccessMode_READ_ONLY}, true, false},
		{"write", drivertest.Modes{Data: cosi.AccessMode_WRITE_ONLY}, false, true},
		{"bucket metadata", drivertest.Modes{BucketMetadata: cosi.AccessMode_READ_ONLY}, false, false},
	} {
		w.with(t, mode.modes, []string{bucket}, func(client *s3.Client) {
			_, tags := client.GetBucketTagging(t.Context(), &s3.GetBucketTaggingInput{Bucket: &bucket})
			isMetadata := mode.modes.BucketMetadata != 0
			if (putObject(t, client, bucket, "made") == nil) == mode.put && (getObject(t, client, bucket, "given") == nil) == mode.get && (tags == nil) == isMetadata {
				works = append(works, mode.name)
			}
		})
	}
	return cmp.Or(strings.Join(works, ", "), "none apart")
}

func (w *world) rotates(t *testing.T, bucket string) bool {
	t.Helper()
	request := grantRequest(drivertest.NewAccount(), readWrite, bucket)
	var works []bool
	var clients []*s3.Client
	for _, request.Rotation = range []string{"", "1", "2"} {
		clients = append(clients, workload(t, w.MustGrant(t, request)))
	}
	for _, client := range clients {
		works = append(works, putObject(t, client, bucket, "key") == nil)
	}
	mustSucceed(t, w.revoke(t, request.GetAccountId(), bucket))
	return !works[0] && works[1] && works[2]
}

// limits has an access write more than the quota of a bucket. It is so little that a store reads it all the same: one that
// ends the connection in place of that may end it before its response is read.
func (w *world) limits(t *testing.T) bool {
	t.Helper()
	id := "bc-" + drivertest.NewAccount()
	_, err := w.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id, Parameters: map[string]string{"quota": "64Ki"}})
	if status.Code(err) == codes.InvalidArgument {
		return false
	}
	mustSucceed(t, err)
	var code string
	w.with(t, readWrite, []string{id}, func(client *s3.Client) {
		mustSucceed(t, putObject(t, client, id, "small"))
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &id, Key: aws.String("large"), Body: strings.NewReader(strings.Repeat("x", 128<<10))})
		code = apiCode(t, err)
	})
	mustSucceed(t, w.Delete(t, id, map[string]string{"quota": "64Ki", "deleteNonEmpty": "true"}))
	return strings.HasSuffix(code, "QuotaExceeded") // MinIO's begins with its name
}
