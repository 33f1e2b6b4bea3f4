// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv/stores"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// capabilitiesOfTheDriver are the capabilities that the documentation requires.
const capabilitiesOfTheDriver = "users=*;user-policy=*;buckets=*"

// realCeph is a RADOS Gateway with a user for the driver.
func realCeph(t *testing.T) target {
	t.Helper()
	with := newCertificate(t)
	ceph := storestest.Ceph(t, stores.CephOptions{Certificate: with.cert, Key: with.key})
	on := cephTarget(t, ceph, "cosi")
	on.secure = func(*testing.T) target {
		secure := on
		secure.backend.Endpoint, secure.backend.CAFile = ceph.SecureURL(), with.authority
		return secure
	}
	return on
}

// cephTarget returns the gateway as configured for a driver with this user, "tenant$name" or only a name.
func cephTarget(t *testing.T, ceph *stores.Ceph, user string) target {
	t.Helper()
	made, err := ceph.MakeUser(t.Context(), user, capabilitiesOfTheDriver)
	mustSucceed(t, err)
	version, err := stores.CephVersion(t.Context())
	mustSucceed(t, err)
	on := adminTarget(s3driver.TypeRGW, ceph.URL(), made.AccessKey, made.SecretKey)
	on.name, on.version, on.sample = "Ceph RGW", version, all
	return on
}

// cephAdmin calls the admin operations as the store's administrator.
func (on target) cephAdmin(ctx context.Context, method, path string, query url.Values, into any) error {
	client := &adminapi.Client{
		Name: "rgw", Endpoint: on.backend.Endpoint, Region: "us-east-1", Credentials: fixedCredentials(on.rootID, on.rootSecret), HTTP: http.DefaultClient,
	}
	answer, err := client.Call(ctx, adminapi.Request{Operation: path, Method: method, Path: "/admin/" + path, Query: query})
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// cephKey is a key in the gateway's format.
type cephKey struct {
	ID     string `json:"access_key"`
	Secret string `json:"secret_key"`
}

func (on target) cephKeys(ctx context.Context, user string) ([]cephKey, error) {
	var found struct {
		Keys []cephKey `json:"keys"`
	}
	err := on.cephAdmin(ctx, http.MethodGet, "user", url.Values{"uid": {user}}, &found)
	// The ID of a key begins with its number.
	slices.SortFunc(found.Keys, func(a, b cephKey) int { return strings.Compare(a.ID, b.ID) })
	return found.Keys, err
}

// cephAccounts lists the users that drivers created, page by page, and the IDs of their keys. It ignores all other
// users of the gateway, which may be a production store.
func (on target) cephAccounts(ctx context.Context) ([]string, error) {
	var lines []string
	for marker := ""; ; {
		var page struct {
			Users     []string `json:"keys"`
			Truncated bool     `json:"truncated"`
			Marker    string   `json:"marker"`
		}
		query := url.Values{"list": {""}, "max-entries": {"100"}, "marker": {marker}}
		if err := on.cephAdmin(ctx, http.MethodGet, "user", query, &page); err != nil {
			return nil, err
		}
		for _, user := range page.Users {
			found, err := on.cephAccount(ctx, user)
			if err != nil {
				return nil, err
			}
			lines = append(lines, found...)
		}
		if marker = page.Marker; !page.Truncated || marker == "" {
			return lines, nil
		}
	}
}

// cephAccount returns no lines for a user that does not belong to a driver or that no longer exists.
func (on target) cephAccount(ctx context.Context, user string) ([]string, error) {
	var found struct {
		Mark string `json:"display_name"`
		Keys []struct {
			ID string `json:"access_key"`
		} `json:"keys"`
	}
	err := on.cephAdmin(ctx, http.MethodGet, "user", url.Values{"uid": {user}}, &found)
	if apierror.Is(err, "NoSuchUser") || err == nil && !strings.HasPrefix(found.Mark, "cosi;") {
		return nil, nil
	}
	lines := []string{"user " + user}
	for _, key := range found.Keys {
		lines = append(lines, "key "+user+" "+key.ID)
	}
	return lines, err
}

// previousKey returns the key that the last rotation kept.
func (r *run) previousKey(t *testing.T) credentials.Credential {
	t.Helper()
	if slices.Contains(r.target.can, readableKeys) {
		keys, err := r.target.cephKeys(t.Context(), r.account)
		if err != nil || len(keys) != 2 {
			t.Fatalf("keys of the user: %d, %v", len(keys), err)
		}
		return credentials.Credential{ID: keys[0].ID, Secret: cosi.NewSecret(keys[0].Secret)}
	}
	entry, err := r.store.Get(t.Context(), r.account)
	mustSucceed(t, err)
	if entry.Previous == nil || entry.Rotation != "r1" {
		t.Fatalf("stored entry %v", entry)
	}
	return *entry.Previous
}
