// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
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
}

// Seed creates a container.
func (a *API) Seed(seed Seed) error {
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
