// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestABucketThatExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	id := w.NewBucket(t, map[string]string{"metadata": `{"team":"a"}`})
	drivertest.WantCode(t, w.Create(t, id, map[string]string{"metadata": `{"team":"b"}`}), codes.AlreadyExists, "other parameters")
	_, err := w.root(t, id).SetMetadata(t.Context(), &container.SetMetadataOptions{Metadata: map[string]*string{
		"cosi_driver": to.Ptr("azure.cooper.dev"), "cosi_params": to.Ptr("stolen"),
	}})
	wantNoError(t, err)
	drivertest.WantCode(t, w.Create(t, id, nil), codes.AlreadyExists)
	_, err = w.root(t, "foreign").Create(t.Context(), nil)
	wantNoError(t, err)
	drivertest.WantCode(t, w.Create(t, "foreign", nil), codes.AlreadyExists, "not created by this driver")
	drivertest.WantCode(t, w.Delete(t, "foreign", map[string]string{"deleteNonEmpty": "true"}), codes.FailedPrecondition, "mark")
}

func TestGetBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	get := func(id string, parameters map[string]string) error {
		_, err := w.DriverGetBucket(t.Context(), &cosi.DriverGetBucketRequest{BucketId: id, Parameters: parameters})
		return err
	}
	_, err := w.root(t, "foreign").Create(t.Context(), &container.CreateOptions{Metadata: map[string]*string{"team": to.Ptr("a")}})
	wantNoError(t, err)
	wantNoError(t, get("foreign", nil))
	wantNoError(t, get("foreign", map[string]string{"metadata": `{"team":"a"}`}))
	drivertest.WantCode(t, get("foreign", map[string]string{"metadata": `{"team":"b"}`}), codes.AlreadyExists, "metadata key team")
	drivertest.WantCode(t, get("foreign", map[string]string{"encryptionScope": "mine"}), codes.AlreadyExists, "encryption scope")
	drivertest.WantCode(t, get("missing", nil), codes.NotFound)
	drivertest.WantCode(t, get("No-Name", nil), codes.NotFound, "cannot exist")
	drivertest.WantCode(t, get(mainAccount+".foreign", nil), codes.NotFound, "cannot exist")
	drivertest.WantCode(t, get("otheraccount.missing", nil), codes.FailedPrecondition, "otheraccount")
}

func TestDeleteGuardsWhatAzureDoesNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{fake: azurefake.Options{Versioning: true}})
	fill := map[string]func(t *testing.T, root *container.Client){
		"a blob": func(t *testing.T, root *container.Client) {
			t.Helper()
			wantNoError(t, upload(t.Context(), root, "a"))
		},
		"an uncommitted blob": func(t *testing.T, root *container.Client) {
			t.Helper()
			wantNoError(t, stageBlock(t.Context(), root, "a"))
		},
		"an earlier version of a deleted blob": func(t *testing.T, root *container.Client) {
			t.Helper()
			wantNoError(t, upload(t.Context(), root, "a"))
			_, err := root.NewBlobClient("a").Delete(t.Context(), nil)
			wantNoError(t, err)
		},
		"a snapshot": func(t *testing.T, root *container.Client) {
			t.Helper()
			wantNoError(t, upload(t.Context(), root, "a"))
			_, err := root.NewBlobClient("a").CreateSnapshot(t.Context(), nil)
			wantNoError(t, err)
		},
	}
	for name, put := range fill {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := w.NewBucket(t, nil)
			put(t, w.root(t, id))
			drivertest.WantCode(t, w.Delete(t, id, nil), codes.FailedPrecondition, "not empty")
			drivertest.WantCode(t, w.Delete(t, id, map[string]string{"deleteNonEmpty": "false"}), codes.FailedPrecondition)
			wantNoError(t, w.Delete(t, id, map[string]string{"deleteNonEmpty": "true", "unknown": "to this version"}))
			wantNoError(t, w.Delete(t, id, nil))
		})
	}
}

func TestAContainerThatIsBeingDeleted(t *testing.T) {
	t.Parallel()
	shared := &clock{}
	w := newWorld(t, worldOptions{fake: azurefake.Options{Now: shared.Now, Deletion: 10 * time.Minute}})
	id := w.NewBucket(t, nil)
	wantNoError(t, w.Delete(t, id, nil))
	wantNoError(t, w.Delete(t, id, nil))
	drivertest.WantCode(t, w.Create(t, id, nil), codes.Unavailable, "Azure is deleting")
	wantNoError(t, w.revoke(t, drivertest.NewAccount(), id))
	_, err := w.DriverGrantBucketAccess(t.Context(), grantRequest(drivertest.NewAccount(), readOnly, id))
	if err == nil {
		t.Error("granted access to a container that is being deleted")
	}
	shared.advance(11 * time.Minute)
	wantNoError(t, w.Create(t, id, nil))
}

func TestBucketsOfSeveralAccounts(t *testing.T) {
	t.Parallel()
	fake := azurefake.Options{Accounts: []azurefake.Account{{Name: mainAccount}, {Name: "second"}}}
	w := newWorld(t, worldOptions{fake: fake, accounts: []string{"second"}})
	id := w.NewBucket(t, map[string]string{"account": "second", "namePrefix": "team-a-"})
	if want := "second.team-a-bc-"; id[:len(want)] != want {
		t.Errorf("bucket ID %q does not begin with %q", id, want)
	}
	account := drivertest.NewAccount()
	granted := w.MustGrant(t, grantRequest(account, readWrite, id))
	if got := granted.GetBuckets()[0].GetBucketInfo().GetAzure().GetStorageAccount(); got != "second" {
		t.Errorf("storage account %q", got)
	}
	wantNoError(t, upload(t.Context(), workload(t, granted), "a"))
	w.mustRevoke(t, account, id)
	drivertest.WantCode(t, w.Delete(t, id, nil), codes.FailedPrecondition)
	drivertest.WantCode(t, w.Create(t, id, map[string]string{"account": mainAccount}), codes.InvalidArgument, "second")
	wantNoError(t, w.Delete(t, id, map[string]string{"deleteNonEmpty": "true"}))
	wantNoError(t, w.Delete(t, "never.issued", nil))
	drivertest.WantCode(t, w.Delete(t, "third.bc-"+uuid.NewString(), nil), codes.FailedPrecondition, "third")
}

// TestBucketParametersAreRefused is in phase 1, where there is nothing to undo.
func TestBucketParametersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, worldOptions{})
	for key, says := range map[string]string{"versioning": "storage account", "colour": "supported parameters", "account": "this driver has", "encryptionScopeOnly": "needs"} {
		_, err := w.DriverGenerateBucketId(t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Parameters: map[string]string{key: "true"}})
		drivertest.WantCode(t, err, codes.InvalidArgument, key, says)
	}
}
