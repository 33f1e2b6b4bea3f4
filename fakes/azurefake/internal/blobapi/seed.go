// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/seedobject"
)

// Seed describes a container that is created without a request.
type Seed struct {
	// Account is the name of the storage account.
	Account      string `json:"account"`
	Name         string `json:"name"`
	PublicAccess string `json:"publicAccess"`
	// Policies are stored access policies. The fields are named as in Set Container ACL.
	Policies []struct {
		ID         string `json:"id"`
		Start      string `json:"start"`
		Expiry     string `json:"expiry"`
		Permission string `json:"permission"`
	} `json:"policies"`
	Blobs []seedobject.Object `json:"blobs"`
}

// Seed creates a container and its blobs. Existing ones are not changed.
func (a *API) Seed(seed Seed) error {
	if err := a.seedContainer(seed); err != nil && azerr.From(err).Code != azerr.ContainerAlreadyExists.Code {
		return err
	}
	for _, b := range seed.Blobs {
		if err := a.seedBlob(seed, b); err != nil && azerr.From(err).Code != "BlobAlreadyExists" {
			return fmt.Errorf("blob %s: %w", b.Name, err)
		}
	}
	return nil
}

// seedBlob uploads a block blob as the owner of the account does, unless it exists.
func (a *API) seedBlob(seed Seed, b seedobject.Object) error {
	body, err := b.Body()
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPut, "http://seed/", bytes.NewReader(body)) //nolint:noctx // the URL is not used: this server handles the request
	if err != nil {
		return err
	}
	r.URL.Path = "/" + seed.Account + "/" + seed.Name + "/" + b.Name
	r.Header.Set("If-None-Match", "*")
	r.Header.Set("X-Ms-Blob-Type", "BlockBlob")
	if b.ContentType != "" {
		r.Header.Set("X-Ms-Blob-Content-Type", b.ContentType)
	}
	for name, value := range b.Metadata {
		r.Header.Set("X-Ms-Meta-"+name, value)
	}
	c := a.Prepare(r, "")
	c.Caller = (&access.Caller{Kind: access.SharedKey, Name: seed.Account}).For(c.Target)
	return c.handler(c, calls.Discard{})
}

func (a *API) seedContainer(seed Seed) error {
	if err := checkContainerName(seed.Name); err != nil {
		return err
	}
	if p := seed.PublicAccess; p != "" && p != "container" && p != "blob" {
		return azerr.InvalidHeaderValue
	}
	var doc identifiersXML
	for _, p := range seed.Policies {
		doc.Identifiers = append(doc.Identifiers, signedIdentifierXML{ID: p.ID, Policy: &accessPolicyXML{Start: p.Start, Expiry: p.Expiry, Permission: p.Permission}})
	}
	policies, err := parsePolicies(doc)
	if err != nil {
		return err
	}
	_, err = a.Store.CreateContainer(store.Container{Account: seed.Account, Name: seed.Name, PublicAccess: seed.PublicAccess, Policies: policies})
	return err
}
