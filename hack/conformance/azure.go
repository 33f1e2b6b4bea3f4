// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// azureOnFake runs the driver on one storage account of the fake, with its key, and with an application that may make
// identities for service accounts.
func azureOnFake(ctx context.Context, root, directory string) (sanity.Config, func() error, error) {
	program := filepath.Join(directory, "driver")
	if err := build(ctx, root, "./cmd/cosi-driver-azure", program); err != nil {
		return sanity.Config{}, nil, err
	}
	settings, authority, err := azurefake.SelfSigned()
	if err != nil {
		return sanity.Config{}, nil, fmt.Errorf("make a certificate: %w", err)
	}
	// Names of the suite's buckets come again at once, so that deletions do not take their time.
	server, err := azurefake.New(azurefake.Options{TLS: settings, Deletion: -1})
	if err != nil {
		return sanity.Config{}, nil, fmt.Errorf("start azurefake: %w", err)
	}
	if err := server.Start(); err != nil {
		return sanity.Config{}, nil, fmt.Errorf("start azurefake: %w", err)
	}
	environment, err := azureEnvironment(server, directory, authority)
	if err != nil {
		return sanity.Config{}, nil, err
	}
	backend, err := newAzureBackend(server, authority)
	if err != nil {
		return sanity.Config{}, nil, err
	}
	return sanity.Config{
		Launcher:    sanity.Exec{Command: []string{program, "--log-level", "debug"}},
		Environment: environment,
		Params: sanity.Params{
			Bucket: map[string]string{"metadata": `{"team":"a"}`}, Incompatible: map[string]string{"metadata": `{"team":"b"}`},
			Invalid: map[string]string{"versioning": "true"}, InvalidAccess: map[string]string{"expiry": "soon"},
		},
		Authentication: []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT},
		ServiceAccount: sanity.ServiceAccount{Name: "app", Namespace: "default"},
		Rotation:       true, NonEmptyDelete: "refuse",
		Probers:   sanity.Probers(sanity.ProberOptions{}),
		Inventory: backend.inventory,
		Fixture:   backend,
		Backend:   backend,
		Limits:    sanity.Limits{Settle: 10 * time.Second},
	}, server.Close, nil
}

// azureEnvironment is the configuration of the driver, with an application that has the roles it needs.
func azureEnvironment(server *azurefake.Server, directory string, authority []byte) ([]string, error) {
	application, err := server.AddPrincipal(azurefake.Principal{Name: "driver"})
	if err != nil {
		return nil, fmt.Errorf("make the driver's application: %w", err)
	}
	for _, role := range []string{"Managed Identity Contributor", "Role Based Access Control Administrator"} {
		if _, err := server.Assign(application.ObjectID, role, server.GroupID()); err != nil {
			return nil, fmt.Errorf("give the driver its roles: %w", err)
		}
	}
	caFile, secretFile := filepath.Join(directory, "ca.pem"), filepath.Join(directory, "secret")
	for file, content := range map[string][]byte{caFile: authority, secretFile: []byte(application.Secret)} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, fmt.Errorf("write a file for the driver: %w", err)
		}
	}
	key, _ := server.Keys(azurefake.DefaultAccount)
	account := azurefake.DefaultAccount
	return []string{
		"AZURE_DRIVER_ACCOUNT=" + account, "AZURE_DRIVER_ACCOUNT_KEY=" + key, "AZURE_DRIVER_ENDPOINT=" + server.URL(), "AZURE_DRIVER_CA_FILE=" + caFile,
		"AZURE_DRIVER_RESOURCE_ID=" + server.ResourceID(account), "AZURE_DRIVER_ISSUER=https://issuer.example.com",
		"AZURE_DRIVER_SUBSCRIPTION_ID=" + server.SubscriptionID(), "AZURE_DRIVER_RESOURCE_GROUP=" + server.ResourceGroup(), "AZURE_DRIVER_LOCATION=westeurope",
		"AZURE_DRIVER_MANAGEMENT_ENDPOINT=" + server.URL(), "AZURE_DRIVER_AUTHORITY=" + server.URL(),
		"AZURE_DRIVER_TENANT_ID=" + server.TenantID(), "AZURE_DRIVER_CLIENT_ID=" + application.ClientID, "AZURE_DRIVER_CLIENT_SECRET_FILE=" + secretFile,
	}, nil
}

// azureBackend looks into azurefake, and changes it as the storage account's administrator.
type azureBackend struct {
	server *azurefake.Server
	root   *service.Client
}

func newAzureBackend(server *azurefake.Server, authority []byte) (azureBackend, error) {
	key, _ := server.Keys(azurefake.DefaultAccount)
	credential, err := service.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	if err != nil {
		return azureBackend{}, fmt.Errorf("use the account key: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	trusting := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	root, err := service.NewClientWithSharedKeyCredential(server.AccountURL(azurefake.DefaultAccount), credential, &service.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: trusting},
	})
	if err != nil {
		return azureBackend{}, fmt.Errorf("make a client: %w", err)
	}
	return azureBackend{server, root}, nil
}

// inventory lists containers, policies, identities, roles, and the driver's records of accounts.
func (b azureBackend) inventory(context.Context) ([]sanity.Resource, error) {
	held := b.server.Inventory()
	var found []sanity.Resource
	for _, one := range held.Containers {
		if one.Name == "cosi-accesses" {
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
	for _, one := range held.Principals {
		if one.Identity != "" {
			found = append(found, sanity.Resource{Kind: sanity.KindAccount, Name: path.Base(one.Identity)})
		}
	}
	for _, one := range held.Assignments {
		found = append(found, sanity.Resource{Kind: sanity.KindPolicy, Name: one.ID})
	}
	return found, nil
}

// BucketID implements sanity.Fixture: the account is the default one, so the name is the ID.
func (azureBackend) BucketID(name string) string { return name }

// MakeBucket implements sanity.Fixture.
func (b azureBackend) MakeBucket(ctx context.Context, name string) error {
	if _, err := b.root.CreateContainer(ctx, name, nil); err != nil {
		return fmt.Errorf("make container %s: %w", name, err)
	}
	return nil
}

// RemoveBucket implements sanity.Fixture.
func (b azureBackend) RemoveBucket(ctx context.Context, name string) error {
	_, err := b.root.DeleteContainer(ctx, name, nil)
	if err == nil || bloberror.HasCode(err, bloberror.ContainerNotFound) {
		return nil
	}
	return fmt.Errorf("remove container %s: %w", name, err)
}

// TakeName implements sanity.ForeignFixture: a container without the driver's mark.
func (b azureBackend) TakeName(ctx context.Context, bucketID string) error {
	return b.MakeBucket(ctx, bucketID)
}

// FreeName implements sanity.ForeignFixture.
func (b azureBackend) FreeName(ctx context.Context, bucketID string) error {
	return b.RemoveBucket(ctx, bucketID)
}

// Can implements sanity.Backend.
func (azureBackend) Can(sanity.Fault) bool { return true }

// Break implements sanity.Backend. The probers are silent meanwhile, so every call may fail.
func (b azureBackend) Break(_ context.Context, how sanity.Fault) error {
	rule := fault.Rule{Name: string(how), Effect: fault.Drop}
	if how == sanity.LoginRefused {
		rule = fault.Rule{Name: string(how), Effect: fault.Fail, Code: "AuthenticationFailed", Status: http.StatusForbidden}
	}
	return b.server.Faults.Add(rule)
}

// Mend implements sanity.Backend.
func (b azureBackend) Mend(context.Context, sanity.Fault) error {
	b.server.Faults.Clear()
	return nil
}
