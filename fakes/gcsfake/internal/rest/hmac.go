// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
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

func (c *Call) serviceAgent(w http.ResponseWriter) error {
	p, err := c.needProject("resourcemanager.projects.get", c.vars["project"])
	if err != nil {
		return err
	}
	return respond(w, map[string]string{"kind": "storage#serviceAccount", "email_address": "service-" + p.Number + "@gs-project-accounts.iam.gserviceaccount.com"})
}

func (c *Call) createHMAC(w http.ResponseWriter) error {
	p, err := c.needProject("storage.hmacKeys.create", c.vars["project"])
	if err != nil {
		return err
	}
	email := c.query.Get("serviceAccountEmail")
	if email == "" {
		return gcserr.Required.Say("Required parameter: serviceAccountEmail")
	}
	k, err := c.api.dir.CreateHMAC(p.ID, email)
	if err != nil {
		return err
	}
	return respond(w, map[string]any{"kind": "storage#hmacKey", "secret": k.Secret, "metadata": showHMAC(k)})
}

func (c *Call) listHMAC(w http.ResponseWriter) error {
	p, err := c.needProject("storage.hmacKeys.list", c.vars["project"])
	if err != nil {
		return err
	}
	limit, err := c.pageSize()
	if err != nil {
		return err
	}
	after, err := c.pageToken()
	if err != nil {
		return err
	}
	items, next, last := []any{}, "", ""
	for _, k := range c.api.dir.HMACKeys(p.ID, c.query.Get("serviceAccountEmail"), c.query.Get("showDeletedKeys") == "true") {
		if k.AccessID <= after {
			continue
		}
		if len(items) == min(limit, 250) {
			next = newPageToken(last, 0)
			break
		}
		items, last = append(items, showHMAC(k)), k.AccessID
	}
	out := map[string]any{"kind": "storage#hmacKeysMetadata", "items": items}
	if next != "" {
		out["nextPageToken"] = next
	}
	return respond(w, out)
}

func (c *Call) getHMAC(w http.ResponseWriter) error {
	if _, err := c.needProject("storage.hmacKeys.get", c.vars["project"]); err != nil {
		return err
	}
	k, err := c.api.dir.HMAC(c.vars["project"], c.vars["accessId"])
	if err != nil {
		return err
	}
	return respond(w, showHMAC(k))
}

func (c *Call) updateHMAC(w http.ResponseWriter) error {
	if _, err := c.needProject("storage.hmacKeys.update", c.vars["project"]); err != nil {
		return err
	}
	k, err := c.api.dir.HMAC(c.vars["project"], c.vars["accessId"])
	if err != nil {
		return err
	}
	var req struct{ State, ETag string }
	if err := c.readJSON(&req); err != nil {
		return err
	}
	if !slices.Contains([]string{identity.Active, identity.Inactive}, req.State) {
		return gcserr.Invalid.Say("Invalid argument: state %q is neither ACTIVE nor INACTIVE.", req.State)
	}
	if k, err = c.api.dir.SetHMACState(k.AccessID, req.State, req.ETag); err != nil {
		return err
	}
	return respond(w, showHMAC(k))
}

func (c *Call) deleteHMAC(w http.ResponseWriter) error {
	if _, err := c.needProject("storage.hmacKeys.delete", c.vars["project"]); err != nil {
		return err
	}
	k, err := c.api.dir.HMAC(c.vars["project"], c.vars["accessId"])
	if err != nil {
		return err
	}
	if k.State == identity.Deleted {
		return gcserr.NotFound.Say("Access ID not found in project: %s", k.AccessID)
	}
	if _, err := c.api.dir.SetHMACState(k.AccessID, identity.Deleted, ""); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
