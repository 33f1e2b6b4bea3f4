// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/pageblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// text downloads a state of a blob.
func text(t *testing.T, b *blob.Client) string {
	t.Helper()
	out, err := b.DownloadStream(t.Context(), nil)
	wantNoError(t, err)
	raw, err := io.ReadAll(out.Body)
	wantNoError(t, err)
	return string(raw)
}

func TestSnapshotsKeepWhatWas(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{}), "data")
	b := c.NewBlobClient("x")
	wantCode(t, "upload", upload(t.Context(), c, "x", "before"), "")
	made, err := b.CreateSnapshot(t.Context(), nil)
	if err != nil || made.Snapshot == nil {
		t.Fatalf("snapshot: %v", err)
	}
	wantCode(t, "overwrite", upload(t.Context(), c, "x", "after"), "")
	snapshot, err := b.WithSnapshot(*made.Snapshot)
	wantNoError(t, err)
	if was, is := text(t, snapshot), text(t, b); was != "before" || is != "after" {
		t.Errorf("the snapshot holds %q and the blob %q", was, is)
	}
	_, err = b.Delete(t.Context(), nil)
	wantCode(t, "deleting a blob with a snapshot", err, "SnapshotsPresent")
	_, err = b.Delete(t.Context(), &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeOnly)})
	wantCode(t, "deleting the snapshots", err, "")
	_, err = snapshot.GetProperties(t.Context(), nil)
	wantCode(t, "the snapshot after that", err, "BlobNotFound")
	_, err = b.Delete(t.Context(), nil)
	wantCode(t, "deleting a blob without snapshots", err, "")
	_, err = b.CreateSnapshot(t.Context(), nil)
	wantCode(t, "a snapshot of nothing", err, "BlobNotFound")
}

func TestVersionsKeepWhatWas(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{Versioning: true}), "data")
	b := c.NewBlockBlobClient("x")
	first, err := b.Upload(t.Context(), readSeekCloser("one"), nil)
	if err != nil || first.VersionID == nil {
		t.Fatalf("the first version: %v", err)
	}
	if _, err := b.Upload(t.Context(), readSeekCloser("two"), nil); err != nil {
		t.Fatal(err)
	}
	earlier, err := b.BlobClient().WithVersionID(*first.VersionID)
	wantNoError(t, err)
	if was, is := text(t, earlier), text(t, b.BlobClient()); was != "one" || is != "two" {
		t.Errorf("the version holds %q and the blob %q", was, is)
	}
	_, err = b.Delete(t.Context(), nil)
	wantCode(t, "deleting the blob", err, "")
	_, err = b.GetProperties(t.Context(), nil)
	wantCode(t, "the blob after that", err, "BlobNotFound")
	if was := text(t, earlier); was != "one" {
		t.Errorf("the version holds %q after the deletion", was)
	}
	_, err = earlier.Delete(t.Context(), nil)
	wantCode(t, "deleting the version", err, "")
	_, err = earlier.GetProperties(t.Context(), nil)
	wantCode(t, "the version after that", err, "BlobNotFound")
}

// TestASnapshotIsAVersion checks that a snapshot of a blob with versions creates a new current version, as in the
// service.
func TestASnapshotIsAVersion(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{Versioning: true}), "data")
	b := c.NewBlockBlobClient("x")
	first, err := b.Upload(t.Context(), readSeekCloser("one"), nil)
	wantNoError(t, err)
	snapshot, err := b.CreateSnapshot(t.Context(), nil)
	if err != nil || snapshot.VersionID == nil || *snapshot.VersionID == *first.VersionID {
		t.Fatalf("the version after the snapshot: %v, %v", snapshot.VersionID, err)
	}
	for _, version := range []string{*first.VersionID, *snapshot.VersionID} {
		at, err := b.BlobClient().WithVersionID(version)
		wantNoError(t, err)
		if was := text(t, at); was != "one" {
			t.Errorf("version %s holds %q", version, was)
		}
	}
	_, err = b.Delete(t.Context(), &blob.DeleteOptions{DeleteSnapshots: to.Ptr(blob.DeleteSnapshotsOptionTypeInclude)})
	wantCode(t, "deleting the blob and its snapshots", err, "")
	last, err := b.BlobClient().WithVersionID(*snapshot.VersionID)
	wantNoError(t, err)
	if was := text(t, last); was != "one" {
		t.Errorf("the last version holds %q after the deletion", was)
	}
}

// TestACopyHasTheScopeOfItsContainer copies into a container whose encryption scope cannot be overridden.
func TestACopyHasTheScopeOfItsContainer(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	source, target := made(t, server, "source"), root(t, server, "target")
	_, err := target.Create(t.Context(), &container.CreateOptions{
		CPKScopeInfo: &container.CPKScopeInfo{DefaultEncryptionScope: to.Ptr("theirs"), PreventEncryptionScopeOverride: to.Ptr(true)},
	})
	wantCode(t, "create", err, "")
	_, err = source.NewBlockBlobClient("x").Upload(t.Context(), readSeekCloser("text"), &blockblob.UploadOptions{
		CPKScopeInfo: &blob.CPKScopeInfo{EncryptionScope: to.Ptr("ours")},
	})
	wantCode(t, "upload", err, "")
	_, err = target.NewBlobClient("x").StartCopyFromURL(t.Context(), source.NewBlobClient("x").URL(), nil)
	wantCode(t, "copy", err, "")
	got, err := target.NewBlobClient("x").GetProperties(t.Context(), nil)
	if err != nil || got.EncryptionScope == nil || *got.EncryptionScope != "theirs" {
		t.Errorf("the copy has scope %v, %v", got.EncryptionScope, err)
	}
}

// TestAFailedCopyLeavesNoBodies copies a blob whose second block cannot be read completely.
func TestAFailedCopyLeavesNoBodies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := made(t, start(t, azurefake.Options{Dir: dir}), "data")
	b := c.NewBlockBlobClient("x")
	ids := []string{"MQ==", "Mg=="}
	var files []string
	for _, id := range ids {
		_, err := b.StageBlock(t.Context(), id, readSeekCloser(id), nil)
		wantNoError(t, err)
		found, err := filepath.Glob(filepath.Join(dir, "bodies", "*", "*"))
		wantNoError(t, err)
		files = append(files, slices.DeleteFunc(found, func(file string) bool { return slices.Contains(files, file) })...)
	}
	_, err := b.CommitBlockList(t.Context(), ids, nil)
	wantNoError(t, err)
	wantNoError(t, os.Truncate(files[1], 1))
	_, err = c.NewBlobClient("y").StartCopyFromURL(t.Context(), b.URL(), nil)
	wantCode(t, "copy", err, "InternalError")
	left, err := filepath.Glob(filepath.Join(dir, "bodies", "*", "*"))
	wantNoError(t, err)
	incoming, err := filepath.Glob(filepath.Join(dir, "incoming", "*"))
	wantNoError(t, err)
	slices.Sort(files)
	if diff := cmp.Diff(files, append(left, incoming...)); diff != "" {
		t.Errorf("the bodies after the copy (-want +got):\n%s", diff)
	}
}

// TestSignaturesForAnEncryptionScope writes to blobs of several scopes with signatures that set one.
func TestSignaturesForAnEncryptionScope(t *testing.T) {
	t.Parallel()
	server := start(t, azurefake.Options{})
	owner := made(t, server, "data")
	c := signed(t, server, "data", sas.BlobSignatureValues{Permissions: "racw", EncryptionScope: "ours", ExpiryTime: time.Now().Add(time.Hour)})
	const mismatch = "BlobCustomerSpecifiedEncryptionMismatch"
	for scope, code := range map[string]string{"ours": "", "theirs": mismatch, "": mismatch} {
		var named *blob.CPKScopeInfo
		if scope != "" {
			named = &blob.CPKScopeInfo{EncryptionScope: to.Ptr(scope)}
		}
		_, err := owner.NewAppendBlobClient("log"+scope).Create(t.Context(), &appendblob.CreateOptions{CPKScopeInfo: named})
		wantNoError(t, err)
		_, err = owner.NewPageBlobClient("disk"+scope).Create(t.Context(), pageblob.PageBytes, &pageblob.CreateOptions{CPKScopeInfo: named})
		wantNoError(t, err)
		_, err = c.NewAppendBlobClient("log"+scope).AppendBlock(t.Context(), readSeekCloser("x"), nil)
		wantCode(t, "append to a blob of scope "+scope, err, code)
		_, err = c.NewPageBlobClient("disk"+scope).UploadPages(t.Context(), readSeekCloser(page("a")), blob.HTTPRange{Count: pageblob.PageBytes}, nil)
		wantCode(t, "write pages of a blob of scope "+scope, err, code)
		_, err = c.NewBlockBlobClient("new"+scope).Upload(t.Context(), readSeekCloser("x"), &blockblob.UploadOptions{CPKScopeInfo: named})
		wantCode(t, "upload with a header for scope "+scope, err, map[bool]string{true: "InvalidHeaderValue"}[scope == "theirs"])
		_, err = c.NewBlobClient("log"+scope).SetMetadata(t.Context(), nil, nil)
		wantCode(t, "set the metadata of a blob of scope "+scope, err, code)
	}
}

// TestOnlyCopyBlobReadsAsItsCaller: what else reads a blob at an address wants the address to be signed.
func TestOnlyCopyBlobReadsAsItsCaller(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{}), "data")
	wantCode(t, "upload", upload(t.Context(), c, "x", "text"), "")
	address := c.NewBlobClient("x").URL()
	_, err := c.NewBlobClient("y").StartCopyFromURL(t.Context(), address, nil)
	wantCode(t, "Copy Blob", err, "")
	_, err = c.NewBlobClient("y").CopyFromURL(t.Context(), address, nil)
	wantCode(t, "Copy Blob From URL", err, "CannotVerifyCopySource")
	_, err = c.NewBlockBlobClient("y").UploadBlobFromURL(t.Context(), address, nil)
	wantCode(t, "Put Blob From URL", err, "CannotVerifyCopySource")
	_, err = c.NewBlockBlobClient("y").StageBlockFromURL(t.Context(), "YQ==", address, nil)
	wantCode(t, "Put Block From URL", err, "CannotVerifyCopySource")
}

// TestPagesOfVersions lists the versions of blobs one by one and deletes each before it asks for the next, as a program
// that empties a container does: none may be left out.
func TestPagesOfVersions(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{Versioning: true}), "data")
	for _, name := range []string{"a", "b\x01+ c"} {
		for range 3 {
			wantCode(t, "upload", upload(t.Context(), c, name, "text"), "")
		}
	}
	names := map[string]int{}
	pages := c.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{MaxResults: to.Ptr(int32(1)), Include: container.ListBlobsInclude{Versions: true}})
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		wantNoError(t, err)
		if len(page.Segment.BlobItems) > 1 {
			t.Fatalf("%d items on a page of one", len(page.Segment.BlobItems))
		}
		for _, item := range page.Segment.BlobItems {
			names[*item.Name]++
			if item.IsCurrentVersion != nil && *item.IsCurrentVersion {
				continue
			}
			version, err := c.NewBlobClient(*item.Name).WithVersionID(*item.VersionID)
			wantNoError(t, err)
			_, err = version.Delete(t.Context(), nil)
			wantCode(t, "deleting a version of "+*item.Name, err, "")
		}
	}
	if diff := cmp.Diff(map[string]int{"a": 3, "b\x01+ c": 3}, names); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// TestTheClientsOwnChecksums lets azblob compute the CRC-64 of the data it sends.
func TestTheClientsOwnChecksums(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{}), "data")
	b := c.NewBlockBlobClient("x")
	const id = "YQ=="
	staged, err := b.StageBlock(t.Context(), id, readSeekCloser("hello"), &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeComputeCRC64()})
	if err != nil || len(staged.ContentCRC64) == 0 {
		t.Fatalf("a block with its CRC: %v, %v", staged.ContentCRC64, err)
	}
	_, err = b.StageBlock(t.Context(), id, readSeekCloser("hello"), &blockblob.StageBlockOptions{TransactionalValidation: blob.TransferValidationTypeCRC64(1)})
	wantCode(t, "a block with another CRC", err, "Crc64Mismatch")
	_, err = b.CommitBlockList(t.Context(), []string{id}, nil)
	wantCode(t, "commit", err, "")
	if got := text(t, b.BlobClient()); got != "hello" {
		t.Errorf("the blob holds %q", got)
	}
}

func TestAppendBlobsGrow(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{}), "data")
	b := c.NewAppendBlobClient("log")
	_, err := b.AppendBlock(t.Context(), readSeekCloser("x"), nil)
	wantCode(t, "appending to nothing", err, "BlobNotFound")
	if _, err := b.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for i, piece := range []string{"one ", "two "} {
		out, err := b.AppendBlock(t.Context(), readSeekCloser(piece), nil)
		if err != nil || *out.BlobAppendOffset != map[int]string{0: "0", 1: "4"}[i] || int(*out.BlobCommittedBlockCount) != i+1 {
			t.Fatalf("appending %q: offset %v, blocks %v, %v", piece, out.BlobAppendOffset, out.BlobCommittedBlockCount, err)
		}
	}
	at := func(position, most int64) error {
		_, err := b.AppendBlock(t.Context(), readSeekCloser("three"), &appendblob.AppendBlockOptions{
			AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &position, MaxSize: &most},
		})
		return err
	}
	wantCode(t, "appending at another place", at(3, 100), "AppendPositionConditionNotMet")
	wantCode(t, "appending beyond a size", at(8, 9), "MaxBlobSizeConditionNotMet")
	wantCode(t, "appending in the place", at(8, 13), "")
	if got := text(t, b.BlobClient()); got != "one two three" {
		t.Errorf("the blob holds %q", got)
	}
	_, err = c.NewBlockBlobClient("log").StageBlock(t.Context(), "YQ==", readSeekCloser("x"), nil)
	wantCode(t, "a block for an append blob", err, "InvalidBlobType")
	before, err := b.GetProperties(t.Context(), nil)
	wantNoError(t, err)
	if sealed, err := b.Seal(t.Context(), nil); err != nil || *sealed.ETag != *before.ETag {
		t.Fatalf("sealing gives ETag %v, and it was %v: %v", sealed.ETag, before.ETag, err)
	}
	_, err = b.AppendBlock(t.Context(), readSeekCloser("x"), nil)
	wantCode(t, "appending to a sealed blob", err, "BlobIsSealed")
}

func TestBlobLeasesGuard(t *testing.T) {
	t.Parallel()
	c := made(t, start(t, azurefake.Options{}), "data")
	wantCode(t, "upload", upload(t.Context(), c, "x", "text"), "")
	b := c.NewBlockBlobClient("x")
	holder, err := lease.NewBlobClient(b, nil)
	wantNoError(t, err)
	if _, err := holder.AcquireLease(t.Context(), -1, nil); err != nil {
		t.Fatal(err)
	}
	other, err := lease.NewBlobClient(b, nil)
	wantNoError(t, err)
	_, err = other.AcquireLease(t.Context(), 15, nil)
	wantCode(t, "a second lease", err, "LeaseAlreadyPresent")
	wantCode(t, "writing without the lease", upload(t.Context(), c, "x", "other"), "LeaseIdMissing")
	with := func(id *string) error {
		_, err := b.Upload(t.Context(), readSeekCloser("other"), &blockblob.UploadOptions{
			AccessConditions: &blob.AccessConditions{LeaseAccessConditions: &blob.LeaseAccessConditions{LeaseID: id}},
		})
		return err
	}
	wantCode(t, "writing with another lease", with(other.LeaseID()), "LeaseIdMismatchWithBlobOperation")
	wantCode(t, "writing with the lease", with(holder.LeaseID()), "")
	_, err = b.Delete(t.Context(), nil)
	wantCode(t, "deleting without the lease", err, "LeaseIdMissing")
	if got := text(t, b.BlobClient()); got != "other" {
		t.Errorf("reading without the lease gives %q", got)
	}
	_, err = other.ReleaseLease(t.Context(), nil)
	wantCode(t, "releasing another lease", err, "LeaseIdMismatchWithLeaseOperation")
	if _, err := holder.ReleaseLease(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "writing with a lease that is over", with(holder.LeaseID()), "LeaseNotPresentWithBlobOperation")
	wantCode(t, "writing without a lease", upload(t.Context(), c, "x", "free"), "")
	_, err = holder.RenewLease(t.Context(), nil)
	wantCode(t, "renewing a lease that was released", err, "LeaseIdMismatchWithLeaseOperation")
	_, err = other.AcquireLease(t.Context(), 14, nil)
	wantCode(t, "a lease that is too short", err, "InvalidHeaderValue")
}
