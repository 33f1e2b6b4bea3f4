// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// showHMAC is the metadata of an HMAC key.
func showHMAC(k identity.HMACKey) map[string]any {
	return map[string]any{
		"kind": "storage#hmacKeyMetadata", "id": k.Project + "/" + k.AccessID, "accessId": k.AccessID, "projectId": k.Project,
		"selfLink":            "https://www.googleapis.com/storage/v1/projects/" + k.Project + "/hmacKeys/" + k.AccessID,
		"serviceAccountEmail": k.Email, "state": k.State, "timeCreated": stamp(k.Created), "updated": stamp(k.Updated), "etag": k.ETag(),
	}
}

func (c *Call) serviceAgent(p identity.Project) (any, error) {
	return map[string]string{"kind": "storage#serviceAccount", "email_address": identity.ServiceAgent(p)}, nil
}

func (c *Call) createHMAC(p identity.Project) (any, error) {
	email := c.query.Get("serviceAccountEmail")
	if email == "" {
		return nil, gcserr.Required.Say("Required parameter: serviceAccountEmail")
	}
	k, err := c.api.dir.CreateHMAC(p.ID, email)
	if err != nil {
		return nil, err
	}
	return map[string]any{"kind": "storage#hmacKey", "secret": k.Secret, "metadata": showHMAC(k)}, nil
}

func (c *Call) listHMAC(p identity.Project) (any, error) {
	limit, err := c.limit("maxResults", 1)
	if err != nil {
		return nil, err
	}
	keys := c.api.dir.HMACKeys(p.ID, c.query.Get("serviceAccountEmail"), c.isTrue("showDeletedKeys"))
	page, next, err := pageOf(c, keys, func(k identity.HMACKey) string { return k.AccessID }, min(limit, 250))
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, k := range page {
		items = append(items, showHMAC(k))
	}
	out := listing("items", items, next)
	out["kind"] = "storage#hmacKeysMetadata"
	return out, nil
}

func (c *Call) getHMAC(k identity.HMACKey) (any, error) { return showHMAC(k), nil }

func (c *Call) updateHMAC(k identity.HMACKey) (any, error) {
	var req struct{ State, ETag string }
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{identity.Active, identity.Inactive}, req.State) {
		return nil, gcserr.Invalid.Say("Invalid argument: state %q is neither ACTIVE nor INACTIVE.", req.State)
	}
	k, err := c.api.dir.SetHMACState(k.AccessID, req.State, req.ETag)
	if err != nil {
		return nil, err
	}
	return showHMAC(k), nil
}

func (c *Call) deleteHMAC(k identity.HMACKey) (any, error) {
	if k.State == identity.Deleted {
		return nil, gcserr.NotFound.Say("Access ID not found in project: %s", k.AccessID)
	}
	_, err := c.api.dir.SetHMACState(k.AccessID, identity.Deleted, "")
	return nil, err
}
