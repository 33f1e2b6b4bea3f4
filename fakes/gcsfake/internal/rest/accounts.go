// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// showAccount is a service account as the API shows it.
func showAccount(a identity.Account) map[string]any {
	out := map[string]any{
		"name": "projects/" + a.Project + "/serviceAccounts/" + a.Email, "projectId": a.Project, "uniqueId": a.UniqueID, "email": a.Email,
		"oauth2ClientId": a.UniqueID, "etag": "MDEwMjE5MjA=",
	}
	for name, v := range map[string]string{"displayName": a.DisplayName, "description": a.Description} {
		if v != "" {
			out[name] = v
		}
	}
	if a.Disabled {
		out["disabled"] = true
	}
	return out
}

// account returns the service account of the call after asking for permissions on it.
func (c *Call) account(permissions ...string) (identity.Account, error) {
	if c.caller.Name == "" { // do not reveal which accounts exist
		return identity.Account{}, gcserr.Unauthorized.Say("Request is missing required authentication credential.%s", emulatorHint)
	}
	a, err := c.api.dir.Account(c.vars["project"], c.vars["account"])
	if err != nil {
		if p, noProject := c.api.dir.Project(c.vars["project"]); noProject == nil && len(permissions) > 0 {
			if _, refused := c.needProject(permissions[0], p.ID); refused != nil {
				return a, refused
			}
		}
		return a, err
	}
	for _, p := range permissions {
		if !c.api.dir.Allowed(c.caller, p, accountTarget(a)) {
			return a, gcserr.Forbidden.Say("Permission '%s' denied on resource (or it may not exist).", p)
		}
	}
	return a, nil
}

// accountRequest is the body of the calls that create and change a service account.
type accountRequest struct {
	AccountID      string `json:"accountId"`
	ServiceAccount struct {
		DisplayName string `json:"displayName"`
		Description string `json:"description"`
	} `json:"serviceAccount"`
	UpdateMask string `json:"updateMask"`
}

func (c *Call) createAccount(p identity.Project) (any, error) {
	var req accountRequest
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	c.vars["account"] = req.AccountID
	a, err := c.api.dir.CreateAccount(p.ID, req.AccountID, req.ServiceAccount.DisplayName, req.ServiceAccount.Description)
	return showAccount(a), err
}

func (c *Call) listAccounts(p identity.Project) (any, error) {
	limit, err := c.cloudLimit(20, 100)
	if err != nil {
		return nil, err
	}
	page, next, err := pageOf(c, c.api.dir.Accounts(p.ID), func(a identity.Account) string { return a.Email }, limit)
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, a := range page {
		items = append(items, showAccount(a))
	}
	return listing("accounts", items, next), nil
}

// cloudLimit returns the maximum number of entries in a listing from pageSize, for APIs other than Cloud Storage. A value
// less than 1 selects the usual number.
func (c *Call) cloudLimit(usual, most int64) (int, error) {
	n, _, err := c.number("pageSize")
	if n < 1 {
		n = usual
	}
	return int(min(n, most)), err
}

// pageOf returns the page of a list that a call requests, and the token for the next page. The list must be ordered by name.
func pageOf[T any](c *Call, all []T, name func(T) string, limit int) (page []T, next string, err error) {
	after, err := parsePageToken(c.query.Get("pageToken"))
	if err != nil {
		return nil, "", err
	}
	first := slices.IndexFunc(all, func(one T) bool { return name(one) > after.Name })
	if first < 0 {
		return nil, "", nil
	}
	page = all[first:]
	if len(page) > limit {
		page, next = page[:limit], newPageToken(name(page[limit-1]), 0)
	}
	return page, next, nil
}

// listing is the response with a page of a list.
func listing(name string, items any, next string) map[string]any {
	out := map[string]any{name: items}
	if next != "" {
		out["nextPageToken"] = next
	}
	return out
}

func (c *Call) getAccount(a identity.Account) (any, error) {
	return showAccount(a), nil
}

func (c *Call) patchAccount(a identity.Account) (any, error) {
	var req accountRequest
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	if req.UpdateMask == "" {
		return nil, gcserr.Invalid.Say("The update mask is required.")
	}
	a, err := c.api.dir.UpdateAccount(a.Email, func(a *identity.Account) error {
		for field := range strings.SplitSeq(req.UpdateMask, ",") {
			switch strings.TrimSpace(field) {
			case "displayName", "display_name":
				a.DisplayName = req.ServiceAccount.DisplayName
			case "description":
				a.Description = req.ServiceAccount.Description
			default:
				return gcserr.Invalid.Say("The field %q cannot be changed.", field)
			}
		}
		return nil
	})
	return showAccount(a), err
}

func (c *Call) deleteAccount(a identity.Account) (any, error) {
	return struct{}{}, c.api.dir.DeleteAccount(a.Email)
}

func setDisabled(disabled bool) func(*Call, identity.Account) (any, error) {
	return func(c *Call, a identity.Account) (any, error) {
		_, err := c.api.dir.UpdateAccount(a.Email, func(a *identity.Account) error { a.Disabled = disabled; return nil })
		return struct{}{}, err
	}
}

func (c *Call) getAccountPolicy(a identity.Account) (any, error) {
	version, _, err := c.number("options.requestedPolicyVersion")
	if err == nil {
		err = requestedVersion(version)
	}
	if err != nil {
		return nil, err
	}
	return c.api.show(a.Policy, version), nil
}

func (c *Call) setAccountPolicy(a identity.Account) (any, error) {
	return c.setPolicy(func(change func(policy.Policy) (policy.Policy, error)) (policy.Policy, error) {
		return c.api.dir.SetAccountPolicy(a.Email, change)
	})
}

func (c *Call) testAccountPermissions(a identity.Account) (any, error) {
	granted, err := c.granted(accountTarget(a))
	return struct {
		Permissions []string `json:"permissions,omitempty"`
	}{granted}, err
}

func (c *Call) undeleteAccount(p identity.Project) (any, error) {
	a, err := c.api.dir.UndeleteAccount(p.ID, c.vars["account"])
	return map[string]any{"restoredAccount": showAccount(a)}, err
}

func accountTarget(a identity.Account) identity.Target {
	r := policy.Resource{Name: "projects/-/serviceAccounts/" + a.UniqueID, Type: "iam.googleapis.com/ServiceAccount", Service: "iam.googleapis.com"}
	return identity.Target{Project: a.Project, Policy: &a.Policy, Resource: r}
}

func (c *Call) generateAccessToken(a identity.Account) (any, error) {
	var req struct {
		Scope    []string `json:"scope"`
		Lifetime string   `json:"lifetime"`
	}
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	life := identity.Lifetime
	if req.Lifetime != "" {
		var err error
		if life, err = time.ParseDuration(req.Lifetime); err != nil || life <= 0 || life > identity.Lifetime {
			return nil, gcserr.Invalid.Say("The lifetime %q must be more than 0s and at most 3600s.", req.Lifetime)
		}
	}
	if len(req.Scope) == 0 {
		return nil, gcserr.Invalid.Say("The scope is required.")
	}
	if a.Disabled {
		return nil, &gcserr.Error{Status: http.StatusNotFound, Reason: "notFound", Message: "Not found; Gaia id not found for email " + a.Email}
	}
	token, err := c.api.dir.IssueToken(a.Email, life, req.Scope...)
	if err != nil {
		return nil, err
	}
	return map[string]string{"accessToken": token, "expireTime": c.api.now().Add(life).UTC().Format(time.RFC3339)}, nil
}
