// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"encoding/xml"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

func (c *Call) createContainer(w http.ResponseWriter) error {
	if err := checkContainerName(c.Target.Container); err != nil {
		return err
	}
	h := c.r.Header
	meta, err := metadata(h)
	if err != nil {
		return err
	}
	public, err := publicAccess(h)
	if err != nil {
		return err
	}
	made, err := c.api.Store.CreateContainer(store.Container{
		Account: c.Target.Account, Name: c.Target.Container, Metadata: meta, PublicAccess: public,
		EncryptionScope: h.Get("X-Ms-Default-Encryption-Scope"), DenyOverride: h.Get("X-Ms-Deny-Encryption-Scope-Override") == "true",
	})
	if err != nil {
		return err
	}
	setState(w, made.ETag, made.Modified)
	w.WriteHeader(http.StatusCreated)
	return nil
}

func publicAccess(h http.Header) (string, error) {
	level := h.Get("X-Ms-Blob-Public-Access")
	if level != "" && level != "container" && level != "blob" {
		return "", azerr.InvalidHeaderValue
	}
	return level, nil
}

func (c *Call) containerProperties(w http.ResponseWriter) error {
	found, err := c.Target.Stored()
	if err := cmp.Or(err, found.Lease.Guard(c.leaseID(), "Container", false, c.api.Now())); err != nil {
		return err
	}
	h := w.Header()
	setState(w, found.ETag, found.Modified)
	setMetadata(w, found.Metadata)
	c.setLease(w, found.Lease)
	setUnlessEmpty(w, "X-Ms-Blob-Public-Access", found.PublicAccess)
	h.Set("X-Ms-Has-Immutability-Policy", "false")
	h.Set("X-Ms-Has-Legal-Hold", "false")
	h.Set("X-Ms-Default-Encryption-Scope", scopeOf(found))
	h.Set("X-Ms-Deny-Encryption-Scope-Override", strconv.FormatBool(found.DenyOverride))
	w.WriteHeader(http.StatusOK)
	return nil
}

// accountScope is the encryption scope of containers that name none.
const accountScope = "$account-encryption-key"

func scopeOf(c store.Container) string { return cmp.Or(c.EncryptionScope, accountScope) }

func (c *Call) leaseID() string { return c.r.Header.Get("X-Ms-Lease-Id") }

// guard compares the lease ID of the request with the lease of a blob. If required is true, the request must have the ID
// while the blob is leased.
func (c *Call) guard(l store.Lease, required bool) error {
	return l.Guard(c.leaseID(), "Blob", required, c.api.Now())
}

func (c *Call) setLease(w http.ResponseWriter, l store.Lease) {
	status, state, duration := c.leaseText(l)
	w.Header().Set("X-Ms-Lease-State", state)
	w.Header().Set("X-Ms-Lease-Status", status)
	setUnlessEmpty(w, "X-Ms-Lease-Duration", duration)
}

func stateOfContainer(found store.Container) state {
	return state{etag: found.ETag, modified: found.Modified, exists: true}
}

// containerCondition applies the conditions and the lease of a change of a container.
func (c *Call) containerCondition(found store.Container, leaseRequired bool) error {
	if err := c.fulfilled(stateOfContainer(found), false); err != nil {
		return err
	}
	return found.Lease.Guard(c.leaseID(), "Container", leaseRequired, c.api.Now())
}

func (c *Call) setContainerMetadata(w http.ResponseWriter) error {
	meta, err := metadata(c.r.Header)
	if err != nil {
		return err
	}
	return c.changeContainer(w, func(found *store.Container) error {
		found.Metadata = meta
		return nil
	})
}

func (c *Call) changeContainer(w http.ResponseWriter, change func(*store.Container) error) error {
	made, err := c.api.Store.ChangeContainer(c.Target.Account, c.Target.Container, func(found *store.Container) error {
		if err := c.containerCondition(*found, false); err != nil {
			return err
		}
		if err := change(found); err != nil {
			return err
		}
		found.ETag, found.Modified, found.Lease = store.NewETag(), c.api.Now(), found.Lease.AfterWrite(c.api.Now())
		return nil
	})
	if err != nil {
		return err
	}
	setState(w, made.ETag, made.Modified)
	w.WriteHeader(http.StatusOK)
	return nil
}

func (c *Call) deleteContainer(w http.ResponseWriter) error {
	account, _ := c.api.Directory.Account(c.Target.Account)
	kept := time.Duration(account.KeepsContainers) * 24 * time.Hour
	err := c.api.Store.DeleteContainer(c.Target.Account, c.Target.Container, kept, func(found store.Container) error {
		return c.containerCondition(found, true)
	})
	return respond(w, http.StatusAccepted, err)
}

// restoreContainer implements Restore Container.
func (c *Call) restoreContainer(w http.ResponseWriter) error {
	name, version := c.r.Header.Get("X-Ms-Deleted-Container-Name"), c.r.Header.Get("X-Ms-Deleted-Container-Version")
	switch {
	case name == "" || version == "":
		return azerr.MissingHeader
	case name != c.Target.Container: // "Destination container name must match deleted container name"
		return azerr.InvalidHeaderValue
	}
	return respond(w, http.StatusCreated, c.api.Store.RestoreContainer(c.Target.Account, name, version))
}

// maxPolicies is how many stored access policies a container can have, maxPolicyID the length of their IDs.
const (
	maxPolicies = 5
	maxPolicyID = 64
)

type accessPolicyXML struct {
	Start      string `xml:"Start,omitempty"`
	Expiry     string `xml:"Expiry,omitempty"`
	Permission string `xml:"Permission,omitempty"`
}

type signedIdentifierXML struct {
	ID     string           `xml:"Id"`
	Policy *accessPolicyXML `xml:"AccessPolicy"`
}

type identifiersXML struct {
	XMLName     xml.Name              `xml:"SignedIdentifiers"`
	Identifiers []signedIdentifierXML `xml:"SignedIdentifier"`
}

func (c *Call) setContainerACL(w http.ResponseWriter) error {
	public, err := publicAccess(c.r.Header)
	if err != nil {
		return err
	}
	var policies []store.Policy
	if c.r.ContentLength != 0 {
		var doc identifiersXML
		if err := c.readXML(&doc); err != nil {
			return err
		}
		if policies, err = parsePolicies(doc); err != nil {
			return err
		}
	}
	return c.changeContainer(w, func(found *store.Container) error {
		found.Policies, found.PublicAccess = policies, public
		return nil
	})
}

func parsePolicies(doc identifiersXML) ([]store.Policy, error) {
	if len(doc.Identifiers) > maxPolicies {
		return nil, azerr.InvalidXML
	}
	var out []store.Policy
	seen := map[string]bool{}
	for _, id := range doc.Identifiers {
		if id.ID == "" || seen[id.ID] || len(id.ID) > maxPolicyID {
			return nil, azerr.InvalidXML
		}
		seen[id.ID] = true
		p, err := parsePolicy(id)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

var invalidNode = azerr.New(http.StatusBadRequest, "InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.")

func parsePolicy(id signedIdentifierXML) (store.Policy, error) {
	if id.Policy == nil {
		return store.Policy{ID: id.ID}, nil
	}
	start, err1 := access.ParseOptionalTime(id.Policy.Start)
	expiry, err2 := access.ParseOptionalTime(id.Policy.Expiry)
	if err1 != nil || err2 != nil || strings.Trim(id.Policy.Permission, "racwdxyltfmeopi") != "" {
		return store.Policy{}, invalidNode
	}
	return store.Policy{ID: id.ID, Start: start, Expiry: expiry, Permission: id.Policy.Permission}, nil
}

func (c *Call) containerACL(w http.ResponseWriter) error {
	found, err := c.Target.Stored()
	if err := cmp.Or(err, found.Lease.Guard(c.leaseID(), "Container", false, c.api.Now())); err != nil {
		return err
	}
	setState(w, found.ETag, found.Modified)
	setUnlessEmpty(w, "X-Ms-Blob-Public-Access", found.PublicAccess)
	doc := identifiersXML{}
	for _, p := range found.Policies {
		one := signedIdentifierXML{ID: p.ID}
		if p != (store.Policy{ID: p.ID}) {
			one.Policy = &accessPolicyXML{Start: store.StampOf(p.Start), Expiry: store.StampOf(p.Expiry), Permission: p.Permission}
		}
		doc.Identifiers = append(doc.Identifiers, one)
	}
	return writeXML(w, http.StatusOK, doc)
}
