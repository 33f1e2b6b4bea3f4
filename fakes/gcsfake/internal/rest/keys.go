// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// keyLife is the end of keys without an end.
const keyLife = "9999-12-31T23:59:59Z"

func showKey(k identity.Key, project string) map[string]any {
	out := map[string]any{
		"name":           "projects/" + project + "/serviceAccounts/" + k.Email + "/keys/" + k.ID,
		"validAfterTime": k.Created.UTC().Format(time.RFC3339), "validBeforeTime": keyLife,
		"keyAlgorithm": "KEY_ALG_RSA_2048", "keyOrigin": k.Origin, "keyType": keyType(k),
	}
	if k.Disabled {
		out["disabled"] = true
	}
	return out
}

func keyType(k identity.Key) string {
	if k.System {
		return "SYSTEM_MANAGED"
	}
	return "USER_MANAGED"
}

func (c *Call) createKey(a identity.Account) (any, error) {
	var req struct {
		Type      string `json:"privateKeyType"`
		Algorithm string `json:"keyAlgorithm"`
	}
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"", "TYPE_UNSPECIFIED", "TYPE_GOOGLE_CREDENTIALS_FILE"}, req.Type) {
		return nil, gcserr.Unimplemented.Say("This fake creates only keys of type TYPE_GOOGLE_CREDENTIALS_FILE.")
	}
	if !slices.Contains([]string{"", "KEY_ALG_UNSPECIFIED", "KEY_ALG_RSA_2048"}, req.Algorithm) {
		return nil, gcserr.Unimplemented.Say("This fake creates only keys of KEY_ALG_RSA_2048.")
	}
	k, private, err := c.api.dir.CreateKey(a.Email)
	if err != nil {
		return nil, err
	}
	file, err := CredentialsFile(a, k.ID, private, c.base())
	if err != nil {
		return nil, err
	}
	out := showKey(k, a.Project)
	out["privateKeyType"], out["privateKeyData"] = "TYPE_GOOGLE_CREDENTIALS_FILE", base64.StdEncoding.EncodeToString(file)
	return out, nil
}

// CredentialsFile returns the JSON key file of a service account. Its token endpoint is below base.
func CredentialsFile(a identity.Account, keyID string, private []byte, base string) ([]byte, error) {
	return json.MarshalIndent(map[string]string{
		"type": "service_account", "project_id": a.Project, "private_key_id": keyID, "private_key": string(private), "client_email": a.Email,
		"client_id": a.UniqueID, "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": base + "/token",
		"auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
		"client_x509_cert_url":        "https://www.googleapis.com/robot/v1/metadata/x509/" + strings.ReplaceAll(a.Email, "@", "%40"), "universe_domain": "googleapis.com",
	}, "", "  ")
}

func (c *Call) listKeys(a identity.Account) (any, error) {
	items := []any{}
	types := c.query["keyTypes"]
	for _, k := range c.api.dir.SigningKeys(a.Email) {
		if len(types) == 0 || slices.Contains(types, keyType(k)) {
			items = append(items, showKey(k, a.Project))
		}
	}
	return map[string]any{"keys": items}, nil
}

func (c *Call) getKey(a identity.Account) (any, error) {
	k, err := c.api.dir.Key(a.Email, c.vars["key"])
	return showKey(k, a.Project), err
}

func (c *Call) deleteKey(a identity.Account) (any, error) {
	return struct{}{}, c.api.dir.DeleteKey(a.Email, c.vars["key"])
}

func (c *Call) uploadKey(a identity.Account) (any, error) {
	var req struct {
		Certificate []byte `json:"publicKeyData"`
	}
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	k, err := c.api.dir.UploadKey(a.Email, req.Certificate)
	return showKey(k, a.Project), err
}

func setKeyDisabled(disabled bool) func(*Call, identity.Account) (any, error) {
	return func(c *Call, a identity.Account) (any, error) {
		return struct{}{}, c.api.dir.SetKeyDisabled(a.Email, c.vars["key"], disabled)
	}
}
