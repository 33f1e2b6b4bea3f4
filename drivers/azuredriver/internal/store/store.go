// SPDX-License-Identifier: Apache-2.0

// Package store makes, describes and removes the containers of one storage account and their stored
// access policies, through the Blob service.
//
// A container is ours if it carries our mark, metadata that is written in the same call that creates
// it. A container without the mark is never adopted or removed.
package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Account is one storage account. All fields but Cluster are required.
type Account struct {
	// API is the client, with the driver's own credentials.
	API *service.Client
	// Signer makes the signatures; Delegator does instead if it is set.
	Signer    Signer
	Delegator Delegator
	// Driver and Cluster are marked on every container.
	Driver, Cluster string
	// Records is the name of the container with the records of accounts. It is made when needed.
	Records string
	// Now is the clock.
	Now func() time.Time

	locks locks
}

// Ensure makes sure that the container exists as asked. It can be repeated after a failure at any
// point; a container that exists is not changed.
func (a *Account) Ensure(ctx context.Context, name string, want params.Bucket) error {
	found, err := a.properties(ctx, name)
	if apierror.Is(err, "ContainerNotFound") {
		if err = a.create(ctx, name, want); err == nil {
			return nil
		}
		if apierror.Is(err, "ContainerAlreadyExists") {
			// Our own earlier try whose answer was lost, or somebody else's.
			found, err = a.properties(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	switch {
	case !a.ours(found):
		return driverkit.AlreadyExists("container %s exists and was not made by this driver; it is left alone", name)
	case found.metadata[markParams] != want.Hash:
		return driverkit.AlreadyExists("container %s exists with other parameters than these", name)
	}
	return nil
}

func (a *Account) create(ctx context.Context, name string, want params.Bucket) error {
	options := &container.CreateOptions{Metadata: map[string]*string{}}
	for key, value := range want.Metadata {
		options.Metadata[key] = to.Ptr(value)
	}
	maps.Copy(options.Metadata, map[string]*string{markDriver: to.Ptr(a.Driver), markParams: to.Ptr(want.Hash)})
	if a.Cluster != "" {
		options.Metadata[markCluster] = to.Ptr(a.Cluster)
	}
	if want.EncryptionScope != "" {
		options.CPKScopeInfo = &container.CPKScopeInfo{DefaultEncryptionScope: &want.EncryptionScope, PreventEncryptionScopeOverride: &want.ScopeOnly}
	}
	_, err := a.container(name).Create(ctx, options)
	return err
}

// Describe compares an existing container, which somebody else may have made, with what is asked of
// it. It changes nothing.
func (a *Account) Describe(ctx context.Context, name string, want params.Bucket) error {
	found, err := a.properties(ctx, name)
	if err != nil {
		return err
	}
	var differences []string
	if want.EncryptionScope != "" && want.EncryptionScope != found.scope {
		differences = append(differences, fmt.Sprintf("its default encryption scope is %q", found.scope))
	}
	if want.ScopeOnly && !found.scopeOnly {
		differences = append(differences, "it allows other encryption scopes")
	}
	for _, key := range slices.Sorted(maps.Keys(want.Metadata)) {
		if found.metadata[key] != want.Metadata[key] {
			differences = append(differences, fmt.Sprintf("its metadata %s differ", key))
		}
	}
	if len(differences) > 0 {
		return driverkit.AlreadyExists("container %s does not fit the parameters: %s", name, strings.Join(differences, "; "))
	}
	return nil
}

// Exists answers the service's error unless the container exists.
func (a *Account) Exists(ctx context.Context, name string) error {
	_, err := a.properties(ctx, name)
	return err
}

// Delete makes sure that the container does not exist. Azure would delete one with blobs without
// asking, so that one with blobs, versions, snapshots or uncommitted blobs is refused here unless
// nonEmpty allows it.
func (a *Account) Delete(ctx context.Context, name string, nonEmpty bool) error {
	err := a.delete(ctx, name, nonEmpty)
	if apierror.Gone(err) {
		return nil
	}
	return err
}

func (a *Account) delete(ctx context.Context, name string, nonEmpty bool) error {
	found, err := a.properties(ctx, name)
	if err != nil {
		return err
	}
	if !a.ours(found) {
		return driverkit.FailedPrecondition("container %s does not carry the mark of this driver, so it is not deleted; delete it by hand if it is not needed", name)
	}
	if !nonEmpty {
		holds, err := a.holdsData(ctx, name)
		if err != nil {
			return err
		}
		if holds {
			return driverkit.FailedPrecondition("container %s is not empty (blobs, versions, snapshots and uncommitted blobs count); empty it, or set deletionPolicy Retain on its Bucket to keep it "+
				"(new buckets are deleted with their blobs if their class sets deleteNonEmpty)", name)
		}
	}
	_, err = a.container(name).Delete(ctx, nil)
	return err
}

// holdsData looks for anything that a deletion would destroy. A page of the listing may be empty
// without being the last one.
func (a *Account) holdsData(ctx context.Context, name string) (bool, error) {
	pages := a.container(name).NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		MaxResults: to.Ptr(int32(1)),
		Include:    container.ListBlobsInclude{Versions: true, Snapshots: true, UncommittedBlobs: true},
	})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, err
		}
		if page.Segment != nil && len(page.Segment.BlobItems) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Check makes a call that shows whether the service answers and accepts the driver's credentials.
// That listing is denied is an answer too.
func (a *Account) Check(ctx context.Context) error {
	_, err := a.API.NewListContainersPager(&service.ListContainersOptions{MaxResults: to.Ptr(int32(1))}).NextPage(ctx)
	if apierror.Is(err, "AuthorizationPermissionMismatch", "AuthorizationFailure") {
		return nil
	}
	return err
}

func (a *Account) container(name string) *container.Client { return a.API.NewContainerClient(name) }

// Keys of the metadata that mark a container as ours. They must be identifiers of C#.
const (
	markDriver  = params.MarkPrefix + "driver"
	markCluster = params.MarkPrefix + "cluster"
	markParams  = params.MarkPrefix + "params"
)

// properties are those of a container that this package looks at.
type properties struct {
	// metadata has lower-case keys, since the service does not tell cases apart and HTTP changes them.
	metadata  map[string]string
	scope     string
	scopeOnly bool
}

func (a *Account) properties(ctx context.Context, name string) (properties, error) {
	answer, err := a.container(name).GetProperties(ctx, nil)
	if err != nil {
		return properties{}, err
	}
	found := properties{metadata: lowerKeys(answer.Metadata)}
	if answer.DefaultEncryptionScope != nil {
		found.scope = *answer.DefaultEncryptionScope
	}
	found.scopeOnly = answer.DenyEncryptionScopeOverride != nil && *answer.DenyEncryptionScopeOverride
	return found, nil
}

func (a *Account) ours(found properties) bool {
	return found.metadata[markDriver] == a.Driver && found.metadata[markCluster] == a.Cluster
}

// lowerKeys undoes what HTTP does to the keys of metadata.
func lowerKeys(metadata map[string]*string) map[string]string {
	lower := map[string]string{}
	for key, text := range metadata {
		if text != nil {
			lower[strings.ToLower(key)] = *text
		}
	}
	return lower
}
