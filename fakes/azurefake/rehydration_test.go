// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// madeForDays is the client of a new container by a signature, which a clock that is ahead does not invalidate as a key's date.
func madeForDays(t *testing.T, s *azurefake.Server) *container.Client {
	t.Helper()
	made(t, s, "data")
	return signed(t, s, "data", sas.BlobSignatureValues{Permissions: "rcwdl", ExpiryTime: time.Now().Add(72 * time.Hour)})
}

// TestRehydrationTakesHours lets the fake's clock bring archived blobs back.
func TestRehydrationTakesHours(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	server := start(t, azurefake.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	c := madeForDays(t, server)
	high := &blob.SetTierOptions{RehydratePriority: to.Ptr(blob.RehydratePriorityHigh)}
	for name, options := range map[string]*blob.SetTierOptions{"standard": nil, "high": high, "raised": nil} {
		wantCode(t, "upload", upload(t.Context(), c, name, "text"), "")
		b := c.NewBlobClient(name)
		_, err := b.SetTier(t.Context(), blob.AccessTierArchive, nil)
		wantCode(t, "archive", err, "")
		_, err = b.SetTier(t.Context(), blob.AccessTierCool, options)
		wantCode(t, "rehydrate", err, "")
	}
	read := func(name string) error { _, err := c.NewBlobClient(name).DownloadStream(t.Context(), nil); return err }
	const pending = "BlobBeingRehydrated"
	for _, name := range []string{"standard", "high", "raised"} {
		wantCode(t, name+" at once", read(name), pending)
	}
	ahead.Store(int64(61 * time.Minute))
	wantCode(t, "high after an hour", read("high"), "")
	wantCode(t, "standard after an hour", read("standard"), pending)
	_, err := c.NewBlobClient("raised").SetTier(t.Context(), blob.AccessTierCool, high)
	wantCode(t, "raise the priority", err, "")
	ahead.Store(int64(150 * time.Minute))
	wantCode(t, "raised an hour after that", read("raised"), "")
	wantCode(t, "standard, still", read("standard"), pending)
	ahead.Store(int64(15*time.Hour + time.Minute))
	wantCode(t, "standard after 15 hours", read("standard"), "")
	got, err := c.NewBlobClient("standard").GetProperties(t.Context(), nil)
	if err != nil || *got.AccessTier != "Cool" || got.ArchiveStatus != nil || got.RehydratePriority != nil {
		t.Errorf("rehydrated, it has %v, %v, %v: %v", got.AccessTier, got.ArchiveStatus, got.RehydratePriority, err)
	}
	page, err := c.NewListBlobsFlatPager(nil).NextPage(t.Context())
	wantNoError(t, err)
	for _, item := range page.Segment.BlobItems {
		if *item.Properties.AccessTier != blob.AccessTierCool || item.Properties.ArchiveStatus != nil {
			t.Errorf("%s is listed with %v, %v", *item.Name, *item.Properties.AccessTier, item.Properties.ArchiveStatus)
		}
	}
	wantCode(t, "overwrite", upload(t.Context(), c, "standard", "new"), "")
}

// TestADeletionEndsARehydration deletes a blob that is on its way back: its version stays archived, whatever the time.
func TestADeletionEndsARehydration(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	server := start(t, azurefake.Options{Versioning: true, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	c := madeForDays(t, server)
	wantCode(t, "upload", upload(t.Context(), c, "x", "text"), "")
	b := c.NewBlobClient("x")
	for _, tier := range []blob.AccessTier{blob.AccessTierArchive, blob.AccessTierHot} {
		_, err := b.SetTier(t.Context(), tier, nil)
		wantCode(t, "set the tier", err, "")
	}
	was, err := b.GetProperties(t.Context(), nil)
	wantNoError(t, err)
	_, err = b.Delete(t.Context(), nil)
	wantCode(t, "delete", err, "")
	ahead.Store(int64(24 * time.Hour))
	version, err := b.WithVersionID(*was.VersionID)
	wantNoError(t, err)
	_, err = version.DownloadStream(t.Context(), nil)
	wantCode(t, "the version a day later", err, "BlobArchived")
	_, err = version.SetTier(t.Context(), blob.AccessTierHot, nil)
	wantCode(t, "rehydrate the version", err, "BlobArchived")
}

// TestASoftDeletionEndsARehydration restores a blob that was deleted during its rehydration: it stays archived.
func TestASoftDeletionEndsARehydration(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	server := start(t, azurefake.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	c := madeForDays(t, server)
	serviceOf(t, server).converse(t).send(t, keepDeleted(sevenDays))
	wantCode(t, "upload", upload(t.Context(), c, "x", "text"), "")
	b := c.NewBlobClient("x")
	for _, tier := range []blob.AccessTier{blob.AccessTierArchive, blob.AccessTierHot} {
		_, err := b.SetTier(t.Context(), tier, nil)
		wantCode(t, "set the tier", err, "")
	}
	_, err := b.Delete(t.Context(), nil)
	wantCode(t, "delete", err, "")
	_, err = b.Undelete(t.Context(), nil)
	wantCode(t, "undelete", err, "")
	ahead.Store(int64(24 * time.Hour))
	_, err = b.DownloadStream(t.Context(), nil)
	wantCode(t, "the blob a day later", err, "BlobArchived")
}

// TestVersionsInAHierarchy lists versions of top-level blobs, and each prefix only once.
func TestVersionsInAHierarchy(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{Versioning: true}), "data")
	for _, name := range []string{"baz", "baz", "baz/foo", "baz/foo", "baz/bar/foo"} {
		wantCode(t, "upload", upload(t.Context(), c, name, "text"), "")
	}
	for _, size := range []int32{1, 5000} {
		var found []string
		pages := c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Include: container.ListBlobsInclude{Versions: true}, MaxResults: &size})
		for pages.More() {
			page, err := pages.NextPage(t.Context())
			wantNoError(t, err)
			for _, item := range page.Segment.BlobItems {
				if item.VersionID == nil {
					t.Errorf("%s is listed without its version", *item.Name)
				}
				found = append(found, *item.Name)
			}
			for _, prefix := range page.Segment.BlobPrefixes {
				found = append(found, *prefix.Name)
			}
		}
		if diff := cmp.Diff([]string{"baz", "baz", "baz/"}, found); diff != "" {
			t.Errorf("in pages of %d (-want +got):\n%s", size, diff)
		}
	}
}

// TestTheSecondaryLocation reads with the official client and a key, in path style and by the host's name.
func TestTheSecondaryLocation(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	wantCode(t, "upload", upload(t.Context(), made(t, server, "data"), "x", "text"), "")
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := service.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	for what, url := range map[string]string{
		"path style":    "http://azure.example/" + azurefake.DefaultAccount + "-secondary",
		"the host name": "http://" + azurefake.DefaultAccount + "-secondary.blob.localhost",
	} {
		options := noRetry()
		options.Transport = direct{server, nil}
		svc, err := service.NewClientWithSharedKeyCredential(url, cred, &service.ClientOptions{ClientOptions: options})
		wantNoError(t, err)
		c := svc.NewContainerClient("data")
		if got := text(t, c.NewBlobClient("x")); got != "text" {
			t.Errorf("%s: the blob holds %q", what, got)
		}
		stats, err := svc.GetStatistics(t.Context(), nil)
		if err != nil || *stats.GeoReplication.Status != service.BlobGeoReplicationStatusLive || stats.GeoReplication.LastSyncTime == nil {
			t.Errorf("%s: statistics %v, %v", what, stats.GeoReplication, err)
		}
		wantCode(t, what+": a write", upload(t.Context(), c, "y", "text"), "InsufficientAccountPermissions")
	}
}

// TestPropertiesOfTheService sets and reads them with the official client, and lets their version count.
func TestPropertiesOfTheService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := start(t, azurefake.Options{Dir: dir})
	client := func(s *azurefake.Server) *service.Client {
		key, _ := s.Keys(azurefake.DefaultAccount)
		cred, err := service.NewSharedKeyCredential(azurefake.DefaultAccount, key)
		wantNoError(t, err)
		svc, err := service.NewClientWithSharedKeyCredential(s.AccountURL(azurefake.DefaultAccount), cred, &service.ClientOptions{ClientOptions: noRetry()})
		wantNoError(t, err)
		return svc
	}
	retention := &service.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr(int32(5))}
	_, err := client(server).SetProperties(t.Context(), &service.SetPropertiesOptions{
		Logging:               &service.Logging{Read: to.Ptr(true), Write: to.Ptr(true), Delete: to.Ptr(true), RetentionPolicy: retention},
		DefaultServiceVersion: to.Ptr("2020-04-08"),
	})
	wantCode(t, "set", err, "")
	wantNoError(t, server.Close())
	again := start(t, azurefake.Options{Dir: dir})
	got, err := client(again).GetProperties(t.Context(), nil)
	if err != nil || !*got.Logging.Read || *got.Logging.RetentionPolicy.Days != 5 || *got.DefaultServiceVersion != "2020-04-08" || *got.HourMetrics.Enabled {
		t.Errorf("after a restart: %+v, %v", got.StorageServiceProperties, err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fuzzURL+"/x", http.NoBody)
	wantNoError(t, err)
	response, err := direct{again, nil}.Do(request)
	if err != nil || response.Header.Get("X-Ms-Version") != "2020-04-08" {
		t.Errorf("a request without a version is of %q, %v", response.Header.Get("X-Ms-Version"), err)
	}
	_, err = client(again).SetProperties(t.Context(), &service.SetPropertiesOptions{DeleteRetentionPolicy: retention})
	wantCode(t, "soft delete", err, "")
	_, err = client(again).GetStatistics(t.Context(), nil)
	wantCode(t, "statistics of the primary", err, "InvalidQueryParameterValue")
}
