// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

func (c *Call) accountInformation(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("X-Ms-Sku-Name", "Standard_RAGRS")
	h.Set("X-Ms-Account-Kind", "StorageV2")
	h.Set("X-Ms-Is-Hns-Enabled", "false")
	w.WriteHeader(http.StatusOK)
	return nil
}

// maxDelegation is the longest life of a user delegation key.
const maxDelegation = 7 * 24 * time.Hour

func (c *Call) userDelegationKey(w http.ResponseWriter) error {
	var asked struct {
		XMLName xml.Name `xml:"KeyInfo"`
		Start   string
		Expiry  string
		// Delegated is the tenant of the users that signatures with the key are for.
		Delegated string `xml:"DelegatedUserTid"`
	}
	if err := c.readXML(&asked); err != nil {
		return err
	}
	now := c.api.Now()
	start, err1 := access.ParseTime(asked.Start)
	expiry, err2 := access.ParseTime(asked.Expiry)
	if asked.Start == "" {
		start, err1 = now, nil
	}
	if err1 != nil || err2 != nil || !expiry.After(start) || !expiry.After(now) || expiry.After(now.Add(maxDelegation+time.Minute)) || start.After(now.Add(maxDelegation)) {
		return invalidNode
	}
	if asked.Delegated != "" && uuid.Validate(asked.Delegated) != nil {
		return invalidNode
	}
	if asked.Delegated != "" && !strings.EqualFold(asked.Delegated, c.api.Directory.TenantID()) {
		return azerr.AuthenticationFailed("The tenant %s is not known in this directory.", asked.Delegated)
	}
	const layout = "2006-01-02T15:04:05Z"
	version := w.Header().Get("X-Ms-Version")
	from, to := start.Format(layout), expiry.Format(layout)
	tenantID := c.api.Directory.TenantID()
	return writeXML(w, http.StatusOK, struct {
		XMLName                                                                              xml.Name `xml:"UserDelegationKey"`
		SignedOid, SignedTid, SignedStart, SignedExpiry, SignedService, SignedVersion, Value string
		SignedDelegatedUserTid                                                               string `xml:",omitempty"`
	}{
		SignedOid: c.Caller.ObjectID, SignedTid: tenantID, SignedStart: from, SignedExpiry: to, SignedService: "b", SignedVersion: version,
		Value:                  c.api.Directory.DelegationKey(c.Target.Account, c.Caller.ObjectID, from, to, version, asked.Delegated),
		SignedDelegatedUserTid: asked.Delegated,
	})
}
