// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"context"
	"net/http"
	"os"
	"path"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/internal/testing/conformancetest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/sanitytest"
)

// TestConformance holds the built command against the conformance suite, with keys and with service accounts. The driver
// has the rights of the documentation, and no key but by them.
func TestConformance(t *testing.T) {
	t.Parallel()
	testConformance(t, "cosi-driver-azure on azurefake, with keys and service accounts", false)
}

// TestConformanceByV1Alpha1 is that by the older contract.
func TestConformanceByV1Alpha1(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestConformance in drivers/s3driver runs it by v1alpha1")
	testConformance(t, "cosi-driver-azure on azurefake, by v1alpha1", true)
}

// TestConformanceWithLaggingReads is that with reads of Azure Resource Manager that lag.
func TestConformanceWithLaggingReads(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the same without a lag")
	var lag []fault.Rule
	for _, kind := range []string{"UserAssigned*", "Federated*", "Role*"} {
		lag = append(lag, fault.Rule{Operation: kind, Effect: fault.Stale, LagTime: fault.Duration(200 * time.Millisecond)})
	}
	testConformance(t, "cosi-driver-azure on azurefake, with lagging reads", false, lag...)
}

func testConformance(t *testing.T, section string, byV1Alpha1 bool, lag ...fault.Rule) {
	t.Helper()
	// The suite reuses bucket names immediately, so deletions must not take time.
	f := startFederation(t, azurefake.Options{Deletion: -1, Past: len(lag) > 0}, "https://issuer.example.com")
	wantNoError(t, f.server.Faults.Add(lag...))
	key, _ := f.server.Keys(mainAccount)
	config := conformance(t, "")
	_, err := f.server.Assign(f.driver.ObjectID, keyRole, f.server.ResourceID(mainAccount))
	wantNoError(t, err)
	login := f.config.ServiceAccounts
	config.Environment = append(config.Environment,
		"AZURE_DRIVER_ACCOUNT_KEY_NAME=key1", "AZURE_DRIVER_ENDPOINT="+f.server.URL(), "AZURE_DRIVER_CA_FILE="+f.config.Management.CAFile, "AZURE_DRIVER_RESOURCE_ID="+f.server.ResourceID(mainAccount),
		"AZURE_DRIVER_ISSUER="+login.Issuer, "AZURE_DRIVER_SUBSCRIPTION_ID="+login.SubscriptionID, "AZURE_DRIVER_RESOURCE_GROUP="+login.ResourceGroup,
		"AZURE_DRIVER_LOCATION="+login.Location, "AZURE_DRIVER_MANAGEMENT_ENDPOINT="+f.config.Management.Endpoint, "AZURE_DRIVER_TENANT_ID="+login.Credentials.TenantID,
		"AZURE_DRIVER_CLIENT_ID="+login.Credentials.ClientID, "AZURE_DRIVER_CLIENT_SECRET_FILE="+login.Credentials.ClientSecretFile,
		"AZURE_DRIVER_AUTHORITY="+login.Credentials.Authority,
	)
	if len(lag) > 0 {
		config.Environment = append(config.Environment, "AZURE_DRIVER_READ_LAG=600ms")
	}
	config.Authentication = []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT}
	config.Inventory = func(context.Context) ([]sanity.Resource, error) { return resources(f.server), nil }
	config.Backend = faulty{f.server, lag}
	root, err := service.NewClientWithSharedKeyCredential(f.server.AccountURL(mainAccount), sharedKey(t, key), &service.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: f.trusted}})
	wantNoError(t, err)
	config.Fixture = fixture{root}
	if byV1Alpha1 {
		config = sanitytest.ByV1Alpha1(config)
		authority, err := os.ReadFile(f.config.Management.CAFile)
		wantNoError(t, err)
		config.Probers = sanity.Probers(sanity.ProberOptions{CertificateAuthority: authority}) // the contract delivers none
	}
	conformancetest.Test(t, section, config)
}

// conformance returns the configuration that runs on all services share.
func conformance(t *testing.T, key string) sanity.Config {
	t.Helper()
	return sanity.Config{
		Launcher:    sanity.Exec{Command: []string{sanitytest.Build(t, "github.com/cooper-cosi/cooper/cmd/cosi-driver-azure")}},
		Environment: []string{"AZURE_DRIVER_ACCOUNT=" + mainAccount, "AZURE_DRIVER_ACCOUNT_KEY=" + key, "COOPER_LOG_LEVEL=debug"},
		Params: sanity.Params{
			Bucket:        map[string]string{"metadata": `{"team":"a"}`},
			Incompatible:  map[string]string{"metadata": `{"team":"b"}`},
			Invalid:       map[string]string{"versioning": "true"},
			InvalidAccess: map[string]string{"expiry": "soon"},
		},
		Rotation:       true,
		NonEmptyDelete: "refuse",
		Probers:        sanity.Probers(sanity.ProberOptions{}),
	}
}

// faulty is the fake's own way to fail.
type faulty struct {
	server *azurefake.Server
	// always are the rules that stay.
	always []fault.Rule
}

func (faulty) Can(what sanity.Fault) bool {
	return what == sanity.BackendDown || what == sanity.LoginRefused
}

func (f faulty) Break(_ context.Context, what sanity.Fault) error {
	rule := fault.Rule{Name: string(what), Effect: fault.Drop}
	if what == sanity.LoginRefused {
		rule = fault.Rule{Name: string(what), Effect: fault.Fail, Code: "AuthenticationFailed", Status: http.StatusForbidden}
	}
	return f.server.Faults.Set(fault.Plan{Rules: append([]fault.Rule{rule}, f.always...)})
}

func (f faulty) Mend(context.Context, sanity.Fault) error {
	return f.server.Faults.Set(fault.Plan{Rules: f.always})
}

func resources(server *azurefake.Server) []sanity.Resource {
	var found []sanity.Resource
	for _, one := range server.Inventory().Containers {
		if one.Name == records {
			for _, name := range one.Blobs {
				found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: path.Base(name)})
			}
			continue
		}
		found = append(found, sanity.Resource{Kind: sanity.KindBucket, Name: one.Name})
		for _, policy := range one.Policies {
			found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: one.Name + "/" + policy.ID})
		}
	}
	for _, one := range server.Inventory().Principals {
		if one.Identity != "" {
			found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: path.Base(one.Identity)})
		}
	}
	for _, one := range server.Inventory().Assignments {
		found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: one.ID})
	}
	return found
}

// fixture makes containers as the storage account's administrator does.
type fixture struct{ root *service.Client }

var _ sanity.ForeignFixture = fixture{}

func newFixture(t *testing.T, endpoint, key string) fixture {
	t.Helper()
	root, err := service.NewClientWithSharedKeyCredential(endpoint+"/"+mainAccount, sharedKey(t, key), nil)
	wantNoError(t, err)
	return fixture{root}
}

func sharedKey(t *testing.T, key string) *service.SharedKeyCredential {
	t.Helper()
	credential, err := service.NewSharedKeyCredential(mainAccount, key)
	wantNoError(t, err)
	return credential
}

func (fixture) BucketID(name string) string { return name }

func (f fixture) MakeBucket(ctx context.Context, name string) error {
	_, err := f.root.CreateContainer(ctx, name, nil)
	return err
}

func (f fixture) RemoveBucket(ctx context.Context, name string) error {
	_, err := f.root.DeleteContainer(ctx, name, nil)
	if bloberror.HasCode(err, bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted) {
		return nil
	}
	return err
}

func (f fixture) TakeName(ctx context.Context, id string) error { return f.MakeBucket(ctx, id) }

func (f fixture) FreeName(ctx context.Context, id string) error { return f.RemoveBucket(ctx, id) }

// newBreakable puts a way to fail in front of a service that has none.
func newBreakable(t *testing.T, endpoint string) *sanitytest.Backend {
	t.Helper()
	return sanitytest.NewBackend(t, endpoint, func(w http.ResponseWriter) {
		w.Header().Set("X-Ms-Error-Code", string(bloberror.AuthenticationFailed))
		w.WriteHeader(http.StatusForbidden)
	})
}
