// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// signBlob signs on behalf of a caller who has no key of the account, which is how clients create signed URLs without
// a key. The method with the same name in the IAM API has the same path but other fields, and has been shut down.
func (c *Call) signBlob(a identity.Account) (any, error) {
	var req struct {
		Payload []byte `json:"payload"`
		Old     []byte `json:"bytesToSign"`
	}
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	switch {
	case req.Old != nil:
		return nil, gcserr.Unimplemented.Say("This fake serves signBlob of the Service Account Credentials API only.")
	case len(req.Payload) == 0:
		return nil, gcserr.Invalid.Say("The payload is required.")
	}
	id, signature, err := c.api.dir.Sign(a, req.Payload)
	if err != nil {
		return nil, err
	}
	return map[string]string{"keyId": id, "signedBlob": base64.StdEncoding.EncodeToString(signature)}, nil
}

// maxSigned is how long a JWT may live that the service signs (SignJwtRequest in the discovery document of the API).
const maxSigned = 12 * time.Hour

// signJWT signs a claim set.
func (c *Call) signJWT(a identity.Account) (any, error) {
	var req struct {
		Payload string `json:"payload"`
	}
	if err := c.readJSON(&req); err != nil {
		return nil, err
	}
	var claims map[string]json.RawMessage
	if json.Unmarshal([]byte(req.Payload), &claims) != nil {
		return nil, gcserr.Invalid.Say("The payload must be a JSON object.")
	}
	if raw := claims["exp"]; raw != nil {
		var exp int64
		if now := c.api.now(); json.Unmarshal(raw, &exp) != nil || exp < now.Unix() || exp > now.Add(maxSigned).Unix() {
			return nil, gcserr.Invalid.Say("The exp must be an integer timestamp that is not in the past and at most 12 hours in the future.")
		}
	}
	// The first signature creates the key, and the header names it.
	id, _, err := c.api.dir.Sign(a, nil)
	if err != nil {
		return nil, err
	}
	header, err := json.Marshal(map[string]string{"alg": "RS256", "kid": id, "typ": "JWT"})
	if err != nil {
		return nil, err
	}
	text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString([]byte(req.Payload))
	_, signature, err := c.api.dir.Sign(a, []byte(text))
	if err != nil {
		return nil, err
	}
	return map[string]string{"keyId": id, "signedJwt": text + "." + base64.RawURLEncoding.EncodeToString(signature)}, nil
}
