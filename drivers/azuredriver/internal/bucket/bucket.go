// SPDX-License-Identifier: Apache-2.0

// Package bucket creates, describes and deletes the containers of one storage account through the Blob service.
//
// A container belongs to the driver if its metadata contains the driver's mark. The driver writes the mark in the
// call that creates the container. It never adopts or deletes a container without the mark.
package bucket

import (
	"context"
	"maps"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Store is one storage account. All fields except Cluster are required.
type Store struct {
	// API is the client, with the driver's own credentials.
	API *service.Client
	// Driver and Cluster are written to the marks of every container.
	Driver, Cluster string
}

// Ensure ensures that the container exists as requested. It can be repeated after a failure at any point; an existing
// container is not changed.
func (s *Store) Ensure(ctx context.Context, name string, want params.Bucket) error {
	found, err := s.properties(ctx, name)
	if apierror.Is(err, "ContainerNotFound") {
		if err = s.create(ctx, name, want); err == nil {
			return nil
		}
		if apierror.Is(err, "ContainerAlreadyExists") {
			// The container comes from this driver's own earlier attempt whose response was lost, or has another owner.
			found, err = s.properties(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	switch {
	case !s.ours(found):
		return driverkit.AlreadyExists("container %s already exists and was not created by this driver; the driver does not change it", name)
	case found.metadata[markParams] != want.Hash:
		return driverkit.AlreadyExists("container %s already exists with other parameters", name)
	}
	return nil
}

func (s *Store) create(ctx context.Context, name string, want params.Bucket) error {
	options := &container.CreateOptions{Metadata: map[string]*string{}}
	for key, value := range want.Metadata {
		options.Metadata[key] = to.Ptr(value)
	}
	maps.Copy(options.Metadata, map[string]*string{markDriver: to.Ptr(s.Driver), markParams: to.Ptr(want.Hash)})
	if s.Cluster != "" {
		options.Metadata[markCluster] = to.Ptr(s.Cluster)
	}
	if want.EncryptionScope != "" {
		options.CPKScopeInfo = &container.CPKScopeInfo{DefaultEncryptionScope: &want.EncryptionScope, PreventEncryptionScopeOverride: &want.ScopeOnly}
	}
	_, err := s.container(name).Create(ctx, options)
	return err
}

// Exists returns the service's error unless the container exists.
func (s *Store) Exists(ctx context.Context, name string) error {
	_, err := s.properties(ctx, name)
	return err
}

// Ping makes a call that shows whether the service responds and accepts the driver's credentials. It lists
// containers; if the service denies the listing, Ping returns nil, because the service has responded to the driver's
// credentials.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.API.NewListContainersPager(&service.ListContainersOptions{MaxResults: to.Ptr(int32(1))}).NextPage(ctx)
	if apierror.Is(err, "AuthorizationPermissionMismatch", "AuthorizationFailure") {
		return nil
	}
	return err
}

func (s *Store) container(name string) *container.Client { return s.API.NewContainerClient(name) }

// Keys of the metadata that mark a container as the driver's. They must be valid C# identifiers.
const (
	markDriver  = params.MarkPrefix + "driver"
	markCluster = params.MarkPrefix + "cluster"
	markParams  = params.MarkPrefix + "params"
)

// properties are the properties of a container that this package uses.
type properties struct {
	// metadata has lower-case keys, because the service ignores their case and HTTP changes it.
	metadata  map[string]string
	scope     string
	scopeOnly bool
}

func (s *Store) properties(ctx context.Context, name string) (properties, error) {
	answer, err := s.container(name).GetProperties(ctx, nil)
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

func (s *Store) ours(found properties) bool {
	return found.metadata[markDriver] == s.Driver && found.metadata[markCluster] == s.Cluster
}

// lowerKeys converts metadata keys to lower case, because HTTP changes their case.
func lowerKeys(metadata map[string]*string) map[string]string {
	lower := map[string]string{}
	for key, text := range metadata {
		if text != nil {
			lower[strings.ToLower(key)] = *text
		}
	}
	return lower
}
