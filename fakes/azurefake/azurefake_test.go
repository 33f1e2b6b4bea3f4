// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/fault"
)

// wantNoError ends the test if there is an error.
func wantNoError(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func start(t *testing.T, o azurefake.Options) *azurefake.Server {
	t.Helper()
	return faketest.Start(t, azurefake.New, o)
}

func noRetry() azcore.ClientOptions {
	return azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}
}

// root is the container's client by the account's key1.
func root(t *testing.T, s *azurefake.Server, name string) *container.Client {
	t.Helper()
	key, _ := s.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	c, err := container.NewClientWithSharedKeyCredential(s.AccountURL(azurefake.DefaultAccount)+"/"+name, cred, &container.ClientOptions{ClientOptions: noRetry()})
	wantNoError(t, err)
	return c
}

// made is root of a container that exists.
func made(t *testing.T, s *azurefake.Server, name string) *container.Client {
	t.Helper()
	c := root(t, s, name)
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return c
}

// signed is the container's client by a service SAS.
func signed(t *testing.T, s *azurefake.Server, name string, v sas.BlobSignatureValues) *container.Client {
	t.Helper()
	key, _ := s.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	wantNoError(t, err)
	v.ContainerName = name
	q, err := v.SignWithSharedKey(cred)
	wantNoError(t, err)
	c, err := container.NewClientWithNoCredential(s.AccountURL(azurefake.DefaultAccount)+"/"+name+"?"+q.Encode(), &container.ClientOptions{ClientOptions: noRetry()})
	wantNoError(t, err)
	return c
}

func upload(ctx context.Context, c *container.Client, name, text string) error {
	_, err := c.NewBlockBlobClient(name).Upload(ctx, readSeekCloser(text), nil)
	return err
}

func readSeekCloser(text string) io.ReadSeekCloser { return nopCloser{strings.NewReader(text)} }

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	got := ""
	if answered, ok := errors.AsType[*azcore.ResponseError](err); ok {
		got = answered.ErrorCode
	} else if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got != code {
		t.Errorf("%s: returned %q, want %q", what, got, code)
	}
}

func setPolicy(t *testing.T, c *container.Client, ids ...*container.SignedIdentifier) error {
	t.Helper()
	_, err := c.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{ContainerACL: ids})
	return err
}

func identifier(id, permission string, expiry time.Time) *container.SignedIdentifier {
	p := &container.AccessPolicy{Expiry: to.Ptr(expiry)}
	if permission != "" {
		p.Permission = to.Ptr(permission)
	}
	return &container.SignedIdentifier{ID: to.Ptr(id), AccessPolicy: p}
}

func TestBlobsByAccountKey(t *testing.T) {
	t.Parallel()
	s := start(t, azurefake.Options{})
	c := made(t, s, "data")
	b := c.NewBlockBlobClient("a/b c+ü.txt")
	meta := map[string]*string{"Team": to.Ptr("a_b"), "team_x": to.Ptr("1")}
	if _, err := b.Upload(t.Context(), readSeekCloser("hello world"), &blockblob.UploadOptions{Metadata: meta, Tags: map[string]string{"k": "v"}}); err != nil {
		t.Fatal(err)
	}
	got, err := b.DownloadStream(t.Context(), &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: 6, Count: 3}})
	wantNoError(t, err)
	raw, err := io.ReadAll(got.Body)
	if err != nil || string(raw) != "wor" {
		t.Errorf("range: %q, %v", raw, err)
	}
	tags, err := b.GetTags(t.Context(), nil)
	if err != nil || len(tags.BlobTagSet) != 1 || *tags.BlobTagSet[0].Value != "v" {
		t.Errorf("tags: %v, %v", tags.BlobTagSet, err)
	}
	large := bytes.Repeat([]byte("0123456789"), 300_000)
	if _, err := c.NewBlockBlobClient("large").UploadBuffer(t.Context(), large, &blockblob.UploadBufferOptions{BlockSize: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len(large))
	if n, err := c.NewBlobClient("large").DownloadBuffer(t.Context(), back, nil); err != nil || n != int64(len(large)) || !bytes.Equal(back, large) {
		t.Errorf("download of blocks: %d bytes, %v", n, err)
	}
	if _, err := c.NewBlockBlobClient("copy").StartCopyFromURL(t.Context(), c.NewBlobClient("large").URL(), nil); err != nil {
		t.Errorf("copy: %v", err)
	}
	page, err := c.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{MaxResults: to.Ptr(int32(2))}).NextPage(t.Context())
	if err != nil || len(page.Segment.BlobPrefixes) != 1 || len(page.Segment.BlobItems) != 1 || *page.NextMarker == "" {
		t.Errorf("hierarchy: %+v, %v", page.Segment, err)
	}
	_, err = b.Upload(t.Context(), readSeekCloser("x"), &blockblob.UploadOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}}})
	wantCode(t, "create only if there is none", err, "BlobAlreadyExists")
}

func TestStoredPoliciesAreEvaluatedLive(t *testing.T) {
	t.Parallel()
	s := start(t, azurefake.Options{})
	c := made(t, s, "data")
	later := time.Now().Add(time.Hour)
	wantNoError(t, setPolicy(t, c, identifier("ba-1", "rl", later)))
	wantNoError(t, upload(t.Context(), c, "x", "text"))
	client := signed(t, s, "data", sas.BlobSignatureValues{Identifier: "ba-1"})
	get := func() error { _, err := client.NewBlobClient("x").GetProperties(t.Context(), nil); return err }
	wantCode(t, "read", get(), "")
	wantCode(t, "write without w", upload(t.Context(), client, "y", "text"), "AuthorizationPermissionMismatch")
	_, err := client.GetProperties(t.Context(), nil)
	wantCode(t, "container properties", err, "AuthorizationFailure")
	both := signed(t, s, "data", sas.BlobSignatureValues{Identifier: "ba-1", Permissions: "rl"})
	_, err = both.NewBlobClient("x").GetProperties(t.Context(), nil)
	wantCode(t, "a field given twice", err, "AuthenticationFailed")

	wantNoError(t, setPolicy(t, c, identifier("ba-1", "racwdl", later)))
	wantCode(t, "write after the policy has w", upload(t.Context(), client, "y", "text"), "")
	wantNoError(t, setPolicy(t, c, identifier("ba-1", "rl", time.Now().Add(-time.Minute))))
	wantCode(t, "expired", get(), "AuthenticationFailed")
	wantNoError(t, setPolicy(t, c))
	wantCode(t, "removed", get(), "AuthenticationFailed")
	var six []*container.SignedIdentifier
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		six = append(six, identifier(id, "r", later))
	}
	wantCode(t, "six policies", setPolicy(t, c, six...), "InvalidXmlDocument")
	wantCode(t, "a policy with a long name", setPolicy(t, c, identifier(strings.Repeat("p", 65), "r", later)), "InvalidXmlDocument")
	wantCode(t, "five policies", setPolicy(t, c, six[:5]...), "")
}

func TestContainerLife(t *testing.T) {
	t.Parallel()
	s := start(t, azurefake.Options{Deletion: time.Hour})
	c := made(t, s, "data")
	_, err := c.Create(t.Context(), nil)
	wantCode(t, "create twice", err, "ContainerAlreadyExists")
	held, err := lease.NewContainerClient(c, nil)
	wantNoError(t, err)
	if _, err := held.AcquireLease(t.Context(), -1, nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.Delete(t.Context(), nil)
	wantCode(t, "delete a leased container", err, "LeaseIdMissing")
	other, err := lease.NewContainerClient(c, nil)
	wantNoError(t, err)
	_, err = other.AcquireLease(t.Context(), 15, nil)
	wantCode(t, "lease twice", err, "LeaseAlreadyPresent")
	if _, err := held.ReleaseLease(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.Create(t.Context(), nil)
	wantCode(t, "create while being deleted", err, "ContainerBeingDeleted")
	_, err = c.GetProperties(t.Context(), nil)
	wantCode(t, "look while being deleted", err, "ContainerNotFound")
	_, err = root(t, s, "Bad_Name").Create(t.Context(), nil)
	wantCode(t, "a bad name", err, "InvalidResourceName")
}

func TestRotatedKeysEnd(t *testing.T) {
	t.Parallel()
	s := start(t, azurefake.Options{})
	c := made(t, s, "data")
	client := signed(t, s, "data", sas.BlobSignatureValues{Permissions: "l", ExpiryTime: time.Now().Add(time.Hour)})
	list := func(c *container.Client) error {
		_, err := c.NewListBlobsFlatPager(nil).NextPage(t.Context())
		return err
	}
	wantCode(t, "before", list(client), "")
	if _, err := s.RegenerateKey(azurefake.DefaultAccount, "key2"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "after the other key", list(client), "")
	if _, err := s.RegenerateKey(azurefake.DefaultAccount, "key1"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "SAS after its key", list(client), "AuthenticationFailed")
	wantCode(t, "shared key after its key", list(c), "AuthenticationFailed")
	wantCode(t, "with the new key", list(root(t, s, "data")), "")
}

func TestStateSurvivesInADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, azurefake.Options{Dir: dir})
	c := made(t, s, "data")
	wantNoError(t, setPolicy(t, c, identifier("ba-1", "r", time.Now().Add(time.Hour))))
	wantNoError(t, upload(t.Context(), c, "x", "text"))
	if _, err := c.NewBlockBlobClient("staged").StageBlock(t.Context(), "QUFB", readSeekCloser("block"), nil); err != nil {
		t.Fatal(err)
	}
	before := s.Inventory()
	wantNoError(t, s.Close())
	again := start(t, azurefake.Options{Dir: dir})
	client := signed(t, again, "data", sas.BlobSignatureValues{Identifier: "ba-1"})
	got, err := client.NewBlobClient("x").DownloadStream(t.Context(), nil)
	wantNoError(t, err)
	if raw, err := io.ReadAll(got.Body); err != nil || string(raw) != "text" {
		t.Errorf("read back %q, %v", raw, err)
	}
	after := again.Inventory()
	if len(after.Containers) != 1 || after.Containers[0].Uncommitted != before.Containers[0].Uncommitted || before.Containers[0].Uncommitted != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestFaultsAndCalls(t *testing.T) {
	t.Parallel()
	s := start(t, azurefake.Options{})
	wantNoError(t, s.Faults.Add(fault.Rule{Operation: "CreateContainer", Code: "ServerBusy", Times: 1}))
	c := root(t, s, "data")
	_, err := c.Create(t.Context(), nil)
	if !bloberror.HasCode(err, bloberror.ServerBusy) {
		t.Errorf("the fault was not injected: %v", err)
	}
	if _, err := c.Create(t.Context(), nil); err != nil {
		t.Error(err)
	}
	calls := s.Calls()
	if len(calls) != 2 || calls[0].Code != "ServerBusy" || calls[1].Operation != "CreateContainer" || calls[1].Resource != "data" {
		t.Errorf("recorded %+v", calls)
	}
}
