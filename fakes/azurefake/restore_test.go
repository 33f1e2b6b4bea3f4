// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// kept are options with which deleted containers can be restored.
func kept(o azurefake.Options) azurefake.Options {
	o.Accounts = []azurefake.Account{{Name: azurefake.DefaultAccount, KeepsContainers: 7}}
	return o
}

var (
	createContainer = request{method: "PUT", query: ofType}
	deleteContainer = request{method: "DELETE", query: ofType}
	listDeleted     = request{method: "GET", blob: "/", query: comp + "list&include=deleted,metadata&prefix={container}"}
)

// restoreContainer restores the container, with other headers if they are set.
func restoreContainer(with ...headers) request {
	out := request{method: "PUT", query: ofType + "&" + comp + "undelete", headers: headers{"X-Ms-Deleted-Container-Name": "{container}", "X-Ms-Deleted-Container-Version": "{deleted}"}}
	for _, more := range with {
		for name, value := range more {
			out = out.with(false, name, value)
		}
	}
	return out
}

// TestRestoreContainer follows "Restore Container", "List Containers" and "Soft delete for containers".
func TestRestoreContainer(t *testing.T) {
	t.Parallel()
	const named, isDeleted = "<Name>{container}</Name>", "<Version>{deleted}</Version><Deleted>true</Deleted>"
	colored := request{method: "PUT", query: ofType + "&" + comp + "metadata", headers: headers{"X-Ms-Meta-Color": "amber"}}
	gone := []request{colored, put("b", "1"), set("b", "snapshot", nil, ""), stage("s", base1, "2"), deleteContainer, listDeleted}
	restored := then(gone, restoreContainer())
	again := then(gone, createContainer, put("b", "3"), deleteContainer)
	header := func(name, value string) request {
		return restoreContainer(headers{"X-Ms-Deleted-Container-" + name: value})
	}
	atOnce, slow, off := shared(t, kept(azurefake.Options{Deletion: -1})), shared(t, kept(azurefake.Options{})), shared(t, azurefake.Options{Deletion: -1})
	for name, row := range map[string]struct {
		behaviour
		s blobService
	}{
		"a deleted container is listed on request":     {behaviour{before: gone, call: listDeleted, status: 200, has: []string{named + isDeleted, "<DeletedTime>", "<RemainingRetentionDays>6</RemainingRetentionDays>", "<color>amber</color>"}}, atOnce},
		"a deleted container is not listed":            {behaviour{before: gone, call: request{method: "GET", blob: "/", query: comp + "list&prefix={container}"}, status: 200, hasNot: []string{"<Name>"}}, atOnce},
		"a deleted container cannot be read":           {behaviour{before: gone, call: get("b", nil), status: 404, code: "ContainerNotFound"}, atOnce},
		"a container is restored":                      {behaviour{before: gone, call: restoreContainer(), status: 201}, atOnce},
		"a restored container has its blobs":           {behaviour{before: restored, call: get("b", nil), status: 200, has: []string{"1"}}, atOnce},
		"a restored container has its snapshots":       {behaviour{before: restored, call: list("&include=snapshots"), status: 200, has: []string{"<Snapshot>{snapshot}</Snapshot>"}}, atOnce},
		"a restored container has its staged blocks":   {behaviour{before: then(restored, commitBlocks("s", base1)), call: get("s", nil), status: 200, has: []string{"2"}}, atOnce},
		"a restored container has its metadata":        {behaviour{before: restored, call: request{method: "GET", query: ofType}, status: 200, headers: headers{"X-Ms-Meta-Color": "amber"}}, atOnce},
		"a restored container is not deleted":          {behaviour{before: restored, call: listDeleted, status: 200, has: []string{named}, hasNot: []string{"<Deleted>"}}, atOnce},
		"a restored container has no lease":            {behaviour{before: []request{acquireFor("", leaseA, "-1"), deleteContainer.with(false, "x-ms-lease-id", leaseA), listDeleted, restoreContainer()}, call: deleteContainer, status: 202}, atOnce},
		"a restored container is deleted again":        {behaviour{before: then(restored, deleteContainer), call: listDeleted, status: 200, has: []string{named + "<Version>"}}, atOnce},
		"the second container has other blobs":         {behaviour{before: then(gone, createContainer), call: get("b", nil), status: 404, code: "BlobNotFound"}, atOnce},
		"the first of two containers is restored":      {behaviour{before: then(again, restoreContainer()), call: get("b", nil), status: 200, has: []string{"1"}}, atOnce},
		"the second of two containers remains":         {behaviour{before: then(again, restoreContainer()), call: listDeleted, status: 200, has: []string{named + "<Properties>", named + "<Version>"}}, atOnce},
		"a page of deleted containers":                 {behaviour{before: again, call: listDeleted.with(true, "maxresults", "1"), status: 200, has: []string{named, "<NextMarker>"}}, atOnce},
		"a container that exists":                      {behaviour{before: then(gone, createContainer), call: restoreContainer(), status: 409, code: "ContainerAlreadyExists"}, atOnce},
		"a container that was restored":                {behaviour{before: restored, call: restoreContainer(), status: 404, code: "ContainerNotFound"}, atOnce},
		"a version that does not exist":                {behaviour{before: gone, call: header("Version", "01D60701E0A5D5E7"), status: 404, code: "ContainerNotFound"}, atOnce},
		"no version":                                   {behaviour{before: gone, call: header("Version", ""), status: 400, code: "MissingRequiredHeader"}, atOnce},
		"no name":                                      {behaviour{before: gone, call: header("Name", ""), status: 400, code: "MissingRequiredHeader"}, atOnce},
		"another name":                                 {behaviour{before: gone, call: header("Name", "another"), status: 400, code: "InvalidHeaderValue"}, atOnce},
		"a container that is being deleted":            {behaviour{before: gone, call: restoreContainer(), status: 409, code: "ContainerBeingDeleted"}, slow},
		"without the setting, nothing can be restored": {behaviour{before: gone, call: listDeleted, status: 200, hasNot: []string{"<Name>"}}, off},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, row.s) {
				t.Error(difference)
			}
		})
	}
}

// TestRestoreWithTheClient lists and restores a container with Microsoft's client.
func TestRestoreWithTheClient(t *testing.T) {
	t.Parallel()
	server := start(t, kept(azurefake.Options{Deletion: -1}))
	c := made(t, server, "data")
	wantCode(t, "upload", upload(t.Context(), c, "x", "text"), "")
	_, err := c.Delete(t.Context(), nil)
	wantCode(t, "delete", err, "")
	s := serviceOf(t, server)
	client, err := service.NewClientWithSharedKeyCredential(s.url, s.cred, &service.ClientOptions{ClientOptions: noRetry()})
	wantNoError(t, err)
	page, err := client.NewListContainersPager(&service.ListContainersOptions{Include: service.ListContainersInclude{Deleted: true}}).NextPage(t.Context())
	if err != nil || len(page.ContainerItems) != 1 || !*page.ContainerItems[0].Deleted || *page.ContainerItems[0].Properties.RemainingRetentionDays != 6 {
		t.Fatalf("listed: %v, %v", page.ContainerItems, err)
	}
	_, err = client.RestoreContainer(t.Context(), "data", *page.ContainerItems[0].Version, nil)
	wantCode(t, "restore", err, "")
	if got := text(t, c.NewBlobClient("x")); got != "text" {
		t.Errorf("the restored blob has %q", got)
	}
}

// TestRestoreAfterARestart deletes a container, restarts the server, and restores the container before the end of the
// retention. After the end of the retention, the container and the bodies of its blobs are deleted.
func TestRestoreAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ahead atomic.Int64
	server := &azurefake.Server{}
	c := &conversation{}
	restart := func(o azurefake.Options) {
		o.Dir, o.Deletion, o.Now = dir, -1, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		server = start(t, o)
		c.service = serviceOf(t, server)
	}
	restart(kept(azurefake.Options{}))
	c = c.service.converse(t)
	for _, call := range []request{put("b", "1"), stage("s", base1, "2"), deleteContainer} {
		c.send(t, call)
	}
	wantNoError(t, server.Close())
	restart(azurefake.Options{})
	for _, call := range []request{listDeleted, restoreContainer(), commitBlocks("s", base1)} {
		c.send(t, call)
	}
	if b, s := c.send(t, get("b", nil)), c.send(t, get("s", nil)); b.body != "1" || s.body != "2" {
		t.Errorf("restored: %d %q and %d %q", b.status, b.body, s.status, s.body)
	}
	c.send(t, deleteContainer) // the setting is still on
	wantNoError(t, server.Close())
	bodies := filepath.Join(dir, "bodies")
	if sizeOf(t, bodies) == 0 {
		t.Error("the deleted container has no bodies")
	}
	ahead.Store(int64(8 * 24 * time.Hour))
	restart(azurefake.Options{})
	if size := sizeOf(t, bodies); size > 0 {
		t.Errorf("after the end of the retention: %d bytes", size)
	}
}

// TestRetentionOfContainers sets the retention as an administrator does.
func TestRetentionOfContainers(t *testing.T) {
	t.Parallel()
	s := startSubscription(t, azurefake.Options{})
	admin := s.caller(t, "Owner", "Storage Blob Data Owner")
	for _, step := range []struct {
		days int32
		code string
		want int32
	}{{7, "", 7}, {366, "InvalidValuesForRequestParameters", 7}, {0, "", 0}} {
		_, err := admin.blobServices(t).SetServiceProperties(t.Context(), s.ResourceGroup(), azurefake.DefaultAccount, keepContainers(step.days), nil)
		wantCode(t, "set", err, step.code)
		got, err := admin.blobServices(t).GetServiceProperties(t.Context(), s.ResourceGroup(), azurefake.DefaultAccount, nil)
		wantNoError(t, err)
		policy := got.BlobServiceProperties.BlobServiceProperties.ContainerDeleteRetentionPolicy
		if *policy.Enabled != (step.want > 0) || step.want > 0 && *policy.Days != step.want {
			t.Errorf("after %d days: enabled %v, %v", step.days, *policy.Enabled, policy.Days)
		}
	}
	_, err := azurefake.New(azurefake.Options{Accounts: []azurefake.Account{{Name: "one", KeepsContainers: 366}}})
	if err == nil {
		t.Error("a retention of 366 days was accepted")
	}
}
