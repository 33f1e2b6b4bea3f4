// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// maxForm bounds the requests for tokens.
const maxForm = 256 << 10

// tokenForm parses a request for a token, a form or JSON. It ignores unknown parameters and rejects duplicates (RFC
// 6749, 3.2: "The authorization server MUST ignore unrecognized request parameters. Request and response parameters
// MUST NOT be included more than once").
func (c *Call) tokenForm() (map[string]string, error) {
	c.r.Body = http.MaxBytesReader(nil, c.r.Body, maxForm)
	out := map[string]string{}
	add := func(name string, values ...string) error {
		name = snake(name)
		if _, again := out[name]; again || len(values) > 1 {
			return gcserr.InvalidTokenRequest.Say("The parameter %s is sent more than once.", name)
		}
		out[name] = values[0]
		return nil
	}
	if strings.HasPrefix(c.r.Header.Get("Content-Type"), "application/json") {
		raw, err := io.ReadAll(c.r.Body)
		if err != nil {
			return nil, gcserr.InvalidTokenRequest.Say("The request could not be read.")
		}
		var fields map[string]string
		if json.Unmarshal(raw, &fields) != nil {
			return nil, gcserr.InvalidTokenRequest.Say("The request is not a JSON object of strings.")
		}
		for name, v := range fields {
			if err := add(name, v); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if err := c.r.ParseForm(); err != nil {
		return nil, gcserr.InvalidTokenRequest.Say("The form could not be read.")
	}
	for name, values := range c.r.Form {
		if err := add(name, values...); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// snake spells grantType as grant_type: the service accepts both.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (c *Call) token(w http.ResponseWriter) error {
	form, err := c.tokenForm()
	if err != nil {
		return err
	}
	if grant := form["grant_type"]; grant != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		return &gcserr.Error{Status: http.StatusBadRequest, Reason: "unsupported_grant_type", Message: "Invalid grant_type: " + grant}
	}
	if form["assertion"] == "" {
		return gcserr.InvalidTokenRequest.Say("Missing required parameter: assertion")
	}
	endpoints := []string{c.base() + "/token", "https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token"}
	token, err := c.api.dir.ExchangeAssertion(form["assertion"], func(aud string) bool { return slices.Contains(endpoints, aud) })
	if err != nil {
		return err
	}
	return c.respondToken(w, map[string]any{"access_token": token})
}

func (c *Call) exchangeToken(w http.ResponseWriter) error {
	form, err := c.tokenForm()
	if err != nil {
		return err
	}
	const tokenType = "urn:ietf:params:oauth:token-type:" //nolint:gosec // a name, no credential
	switch {
	case form["grant_type"] != "urn:ietf:params:oauth:grant-type:token-exchange":
		return gcserr.InvalidTokenRequest.Say("Invalid value for \"grant_type\": %q.", form["grant_type"])
	case form["requested_token_type"] != tokenType+"access_token":
		return gcserr.InvalidTokenRequest.Say("Invalid value for \"requested_token_type\": %q.", form["requested_token_type"])
	case !slices.Contains([]string{tokenType + "jwt", tokenType + "id_token"}, form["subject_token_type"]):
		return gcserr.InvalidTokenRequest.Say("Invalid value for \"subject_token_type\": %q.", form["subject_token_type"])
	case form["subject_token"] == "" || form["audience"] == "":
		return gcserr.InvalidTokenRequest.Say("The parameters \"audience\" and \"subject_token\" are required.")
	case form["scope"] == "":
		return &gcserr.Error{Status: http.StatusBadRequest, Reason: "invalid_scope", Message: "The parameter \"scope\" is required."}
	}
	for name, v := range form {
		if v != "" && !slices.ContainsFunc(Inputs[c.Operation].Fields, func(in accept.Input) bool { return snake(in.Name) == name }) {
			return gcserr.InvalidTokenRequest.Say("This fake does not support the parameter %s of %s.", name, c.Operation)
		}
	}
	token, err := c.api.dir.ExchangeFederated(c.r.Context(), c.api.issuers, form["audience"], form["subject_token"], form["scope"])
	if err != nil {
		return err
	}
	return c.respondToken(w, map[string]any{"access_token": token, "issued_token_type": tokenType + "access_token"})
}

func (c *Call) respondToken(w http.ResponseWriter, out map[string]any) error {
	out["token_type"], out["expires_in"] = "Bearer", int(identity.Lifetime.Seconds())
	w.Header().Set("Cache-Control", "no-cache, no-store")
	return respond(w, out)
}

// signers finds the public keys of the service account that signed a URL with one of its RSA keys.
func (c *Call) signers(caller *identity.Caller) func(string) ([]*rsa.PublicKey, error) {
	return func(email string) ([]*rsa.PublicKey, error) {
		who, err := c.api.dir.AccountCaller(email, "")
		if err != nil {
			return nil, err
		}
		*caller = who
		return c.api.dir.PublicKeys(email, "")
	}
}
