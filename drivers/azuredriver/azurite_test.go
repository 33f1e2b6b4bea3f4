// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"context"
	"fmt"
	"path"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/fakes/azurefake/azuritetest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// TestAzurite tests on Azurite, if it is installed, everything that depends on how a service evaluates signatures and
// policies. Azurite is the only implementation that Microsoft publishes.
func TestAzurite(t *testing.T) {
	t.Parallel()
	driver, err := azuredriver.New(azuredriver.Options{Config: azuredriver.Config{Backends: map[string]azuredriver.BackendConfig{azuritetest.Account: {
		Endpoint: azuritetest.Start(t), Credentials: azuredriver.CredentialsConfig{AccountKey: cosi.NewSecret(azuritetest.Key)},
	}}}})
	wantNoError(t, err)
	w := &world{Client: drivertest.Serve(t, driver, driverkit.Options{})}
	bucket, account := "bc-"+uuid.NewString(), drivertest.NewAccount()
	wantNoError(t, w.Create(t, bucket, map[string]string{"metadata": `{"Team":"a"}`}))
	wantNoError(t, w.Create(t, bucket, map[string]string{"metadata": `{"Team":"a"}`}))

	reader, writer := drivertest.NewAccount(), drivertest.NewAccount()
	full := w.MustGrant(t, grantRequest(account, drivertest.Modes{Data: cosi.AccessMode_READ_WRITE, ObjectMetadata: cosi.AccessMode_READ_WRITE}, bucket))
	client := workload(t, full)
	wantNoError(t, upload(t.Context(), client, "a"))
	wantNoError(t, download(t.Context(), client, "a"))
	wantNoError(t, list(t.Context(), client))
	const denied = "AuthorizationPermissionMismatch"
	limited := workload(t, w.MustGrant(t, grantRequest(reader, readOnly, bucket)))
	wantNoError(t, download(t.Context(), limited, "a"))
	if code := azureCode(t, upload(t.Context(), limited, "b")); code != denied {
		t.Errorf("writing with read-only access: %q", code)
	}
	limited = workload(t, w.MustGrant(t, grantRequest(writer, writeOnly, bucket)))
	wantNoError(t, upload(t.Context(), limited, "b"))
	if code := azureCode(t, download(t.Context(), limited, "b")); code != denied {
		t.Errorf("reading with write-only access: %q", code)
	}

	rotation := grantRequest(account, drivertest.Modes{Data: cosi.AccessMode_READ_WRITE, ObjectMetadata: cosi.AccessMode_READ_WRITE}, bucket)
	rotation.Rotation = "1"
	rotated := w.MustGrant(t, rotation)
	wantNoError(t, list(t.Context(), workload(t, rotated)))
	wantNoError(t, list(t.Context(), client))
	if again := w.MustGrant(t, rotation); token(again) != token(rotated) {
		t.Error("a repeated grant returns something else")
	}
	rotation.Rotation = "2"
	last := w.MustGrant(t, rotation)
	wantNoError(t, list(t.Context(), workload(t, rotated)))
	if list(t.Context(), client) == nil {
		t.Error("the token before the former one works")
	}
	w.mustRevoke(t, account, bucket)
	wantNoError(t, upload(t.Context(), limited, "c"))
	for _, one := range []string{reader, writer} {
		w.mustRevoke(t, one, bucket)
	}
	for name, dead := range map[string]*cosi.DriverGrantBucketAccessResponse{"former": rotated, "last": last} {
		if list(t.Context(), workload(t, dead)) == nil {
			t.Errorf("the %s token works after revoke", name)
		}
	}
	if w.Delete(t, bucket, nil) == nil {
		t.Error("a container with blobs was deleted")
	}
	testWhatIsNotThere(t, w, bucket)
	wantNoError(t, w.Delete(t, bucket, map[string]string{"deleteNonEmpty": "true"}))
}

// testWhatIsNotThere checks that the calls that the page of stores lists as unsupported are rejected.
func testWhatIsNotThere(t *testing.T, w *world, bucket string) {
	t.Helper()
	drivertest.WantCode(t, w.Create(t, "bc-"+uuid.NewString(), map[string]string{"quota": "1Mi"}), codes.InvalidArgument, "does not limit")
	request := grantRequest(drivertest.NewAccount(), readOnly, bucket, w.NewBucket(t, nil))
	drivertest.WantCode(t, second(w.DriverGrantBucketAccess(t.Context(), request)), codes.OutOfRange, "one BucketAccess for each bucket")
	request = as(grantRequest(drivertest.NewAccount(), readOnly, bucket), "team", "app")
	drivertest.WantCode(t, second(w.DriverGrantBucketAccess(t.Context(), request)), codes.InvalidArgument)
}

// TestConformanceOnAzurite runs the conformance suite on the built command with Azurite as its service, so that
// credentials are tested on an implementation other than the fake.
func TestConformanceOnAzurite(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestConformance runs it on azurefake")
	endpoint := azuritetest.Start(t)
	broken := newBreakable(t, endpoint)
	config := conformance(t, azuritetest.Key)
	config.Environment = append(config.Environment, "AZURE_DRIVER_ENDPOINT="+broken.URL, "AZURE_DRIVER_PUBLIC_ENDPOINT="+endpoint)
	config.Backend = broken
	made := newFixture(t, endpoint, azuritetest.Key)
	config.Fixture = made
	config.Inventory = func(ctx context.Context) ([]sanity.Resource, error) { return listed(ctx, made.root) }
	report := sanitytest.Test(t, config, sanity.Should, sanity.Advice)
	// TestAzurite fails if one of these is not so.
	storestest.Row{
		Store: "Azurite", Version: azuritetest.Version(t), Driver: "Azure", Accounts: "one for each access", Modes: "read, write",
		SeveralBuckets: "no", Rotation: "yes", Quotas: "no", ServiceAccounts: "no", TLS: "no",
		Suite: fmt.Sprintf("MUST %s, SHOULD %s", report.Count(sanity.Must), report.Count(sanity.Should)),
	}.Current(t)
}

// listed returns the service's own listings: containers, their policies, and the driver's records.
func listed(ctx context.Context, root *service.Client) ([]sanity.Resource, error) {
	var found []sanity.Resource
	for containers := root.NewListContainersPager(nil); containers.More(); {
		page, err := containers.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range page.ContainerItems {
			more, err := listedIn(ctx, root.NewContainerClient(*one.Name), *one.Name)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
	}
	return found, nil
}

func listedIn(ctx context.Context, client *container.Client, name string) ([]sanity.Resource, error) {
	if name != records {
		acl, err := client.GetAccessPolicy(ctx, nil)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		found := []sanity.Resource{{Kind: sanity.KindBucket, Name: name}}
		for _, one := range acl.SignedIdentifiers {
			found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: name + "/" + *one.ID})
		}
		return found, nil
	}
	var found []sanity.Resource
	for blobs := client.NewListBlobsFlatPager(nil); blobs.More(); {
		page, err := blobs.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, one := range page.Segment.BlobItems {
			found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: path.Base(*one.Name)})
		}
	}
	return found, nil
}
