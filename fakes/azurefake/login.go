// SPDX-License-Identifier: Apache-2.0

package azurefake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/oidc"
)

// Principal is an application or a user of the directory. An application can log in with a secret.
type Principal struct {
	Name string
	// ObjectID is used in role assignments, and ClientID for logins. Both are UUIDs, and random if empty.
	ObjectID, ClientID string
	// Secret is the client secret; random if empty.
	Secret string
	// User marks a user, as opposed to an application.
	User bool
}

// String implements fmt.Stringer without the secret.
func (p Principal) String() string { return p.Name + ":[redacted]" }

// GoString implements fmt.GoStringer without the secret.
func (p Principal) GoString() string { return p.String() }

// AddPrincipal adds an application and returns it with the generated values.
func (s *Server) AddPrincipal(p Principal) (Principal, error) {
	for _, field := range []*string{&p.ObjectID, &p.ClientID, &p.Secret} {
		if *field == "" {
			*field = uuid.NewString()
		}
	}
	err := s.state().directory.PutPrincipal(access.Principal{ObjectID: p.ObjectID, ClientID: p.ClientID, Name: p.Name, Secret: p.Secret, User: p.User})
	if err != nil {
		return p, fmt.Errorf("add principal %s: %w", p.Name, err)
	}
	return p, nil
}

// RemovePrincipal removes an application or identity by its object ID. Its tokens and user delegation keys become
// invalid.
func (s *Server) RemovePrincipal(objectID string) error {
	return s.state().directory.RemovePrincipal(objectID)
}

// Federate lets a principal log in with tokens of another issuer. The issuer and subject of a token must match
// exactly, and the token must have one of the audiences.
func (s *Server) Federate(objectID, issuer, subject string, audiences ...string) error {
	directory := s.state().directory
	p, ok := directory.Principal(objectID)
	if !ok {
		return fmt.Errorf("add a federated credential: principal %s does not exist", objectID)
	}
	federated := map[string]access.Federation{issuer + " " + subject: {Issuer: issuer, Subject: subject, Audiences: audiences}}
	maps.Copy(federated, p.Federated)
	p.Federated = federated
	return directory.PutPrincipal(p)
}

// Assign gives a principal a built-in role, such as Storage Blob Data Reader, for the resource ID scope and all
// resources below it. It returns the ID of the role assignment.
func (s *Server) Assign(objectID, role, scope string) (string, error) {
	return s.AssignWhen(objectID, role, scope, "")
}

// AssignWhen is Assign with a condition in the syntax of Azure's role assignment conditions.
func (s *Server) AssignWhen(objectID, role, scope, condition string) (string, error) {
	if condition != "" {
		if _, err := access.Holds(condition, "", nil); err != nil {
			return "", fmt.Errorf("assign role %s: %w", role, err)
		}
	}
	directory := s.state().directory
	principal, _ := directory.Principal(objectID)
	for _, known := range directory.Roles() {
		if known.Name == role {
			id := uuid.NewString()
			err := directory.PutAssignment(access.Assignment{ID: id, PrincipalID: objectID, User: principal.User, Role: known.ID, Scope: scope, Condition: condition})
			if err != nil {
				return "", fmt.Errorf("assign role %s: %w", role, err)
			}
			return id, nil
		}
	}
	return "", fmt.Errorf("assign role %q: the role does not exist", role)
}

// Unassign removes a role assignment by its ID.
func (s *Server) Unassign(id string) error { return s.state().directory.RemoveAssignment(id) }

// isLogin reports whether a path belongs to the directory.
func isLogin(path string) bool {
	_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return rest == "oauth2/v2.0/token" || rest == "v2.0/.well-known/openid-configuration"
}

// loginExchange is a call to the directory's token endpoint.
type loginExchange struct {
	server *state
	r      *http.Request
	client string
}

// Describe implements exchange.
func (x *loginExchange) Describe() calls.Description {
	if strings.HasSuffix(x.r.URL.Path, "openid-configuration") {
		return calls.Description{Operation: "login:Discover"}
	}
	return calls.Description{Operation: "login:Token", Principal: x.client}
}

// Fail implements exchange.
func (x *loginExchange) Fail(w http.ResponseWriter, e *azerr.Error) {
	number := 0
	if code, _, found := strings.Cut(strings.TrimPrefix(e.Message, "AADSTS"), ":"); found {
		number, _ = strconv.Atoi(code) // injected errors may have no number
	}
	respondJSON(w, e.Status, map[string]any{"error": e.Code, "error_description": e.Message, "error_codes": []int{number}})
}

func respondJSON(w http.ResponseWriter, status int, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		status, raw = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // fails only if the client has disconnected
}

// Serve implements exchange.
func (x *loginExchange) Serve(w http.ResponseWriter) *azerr.Error {
	tenant, _, _ := strings.Cut(strings.TrimPrefix(x.r.URL.Path, "/"), "/")
	if tenant != x.server.directory.TenantID() {
		return x.refuse(w, azerr.New(http.StatusBadRequest, "invalid_tenant", "AADSTS90002: Tenant '"+tenant+"' not found."))
	}
	if strings.HasSuffix(x.r.URL.Path, "openid-configuration") {
		base := "https://" + x.r.Host + "/" + tenant
		respondJSON(w, http.StatusOK, map[string]string{
			"issuer": base + "/v2.0", "token_endpoint": base + "/oauth2/v2.0/token",
			"authorization_endpoint": base + "/oauth2/v2.0/authorize", "jwks_uri": base + "/discovery/v2.0/keys",
		})
		return nil
	}
	token, err := x.token()
	if err != nil {
		return x.refuse(w, err)
	}
	respondJSON(w, http.StatusOK, token)
	return nil
}

func (x *loginExchange) refuse(w http.ResponseWriter, e *azerr.Error) *azerr.Error {
	x.Fail(w, e)
	return e
}

type tokenResponse struct {
	Type     string `json:"token_type"`
	Expires  int    `json:"expires_in"`
	Extended int    `json:"ext_expires_in"`
	Token    string `json:"access_token"`
}

const jwtAssertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

func (x *loginExchange) token() (tokenResponse, *azerr.Error) {
	if x.r.Method != http.MethodPost || x.r.ParseForm() != nil || x.r.PostForm.Get("grant_type") != "client_credentials" {
		return tokenResponse{}, azerr.New(http.StatusBadRequest, "unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type.")
	}
	form := x.r.PostForm
	for name, values := range form { // unknown parameters are ignored (RFC 6749, 3.2)
		if len(values) > 1 {
			return tokenResponse{}, azerr.New(http.StatusBadRequest, "invalid_request", "AADSTS9000411: The request is not properly formatted. The parameter '"+name+"' is duplicated.")
		}
	}
	x.client = form.Get("client_id")
	login := access.Login{ClientID: x.client, Secret: form.Get("client_secret")}
	if form.Get("client_assertion_type") == jwtAssertion {
		claims, err := x.server.assertion(x.r.Context(), x.client, form.Get("client_assertion"))
		if err != nil {
			return tokenResponse{}, refusal(err)
		}
		login.Assertion = &claims
	}
	audience, ok := x.server.audienceOf(form.Get("scope"))
	if !ok {
		return tokenResponse{}, azerr.New(http.StatusBadRequest, "invalid_scope", "AADSTS70011: The provided value for the input parameter 'scope' is not valid.")
	}
	token, life, err := x.server.directory.Token(login, audience)
	if err != nil {
		return tokenResponse{}, refusal(err)
	}
	return tokenResponse{"Bearer", int(life.Seconds()), int(life.Seconds()), token}, nil
}

// refusal returns the response to a failed login.
func refusal(err error) *azerr.Error {
	if errors.Is(err, access.ErrUnknownClient) {
		return azerr.New(http.StatusBadRequest, "unauthorized_client", err.Error())
	}
	return azerr.New(http.StatusUnauthorized, "invalid_client", err.Error())
}

// audienceOf returns the resource of a scope such as https://storage.azure.com/.default.
func (s *state) audienceOf(scope string) (string, bool) {
	for one := range strings.FieldsSeq(scope) {
		resource, ok := strings.CutSuffix(one, "/.default")
		resource = strings.TrimSuffix(resource, "/")
		if resource == "https://management.core.windows.net" {
			resource = access.ManagementAudience // the former name, which the SDK still requests
		}
		if ok && (resource == access.StorageAudience || resource == access.ManagementAudience) {
			return resource, true
		}
		host, _ := strings.CutPrefix(resource, "https://")
		account, _, _ := strings.Cut(host, ".")
		if _, known := s.directory.Account(account); ok && known && resource == access.AccountAudience(account) {
			return resource, true
		}
	}
	return "", false
}

// leeway is the default clock skew of the library with which Microsoft validates tokens
// (TokenValidationParameters.ClockSkew:
// https://learn.microsoft.com/dotnet/api/microsoft.identitymodel.tokens.tokenvalidationparameters.clockskew). The
// Entra documentation does not state one.
const leeway = 5 * time.Minute

// assertion verifies a token of another issuer. It fetches keys only from issuers that the client trusts.
func (s *state) assertion(ctx context.Context, client, token string) (access.Federation, error) {
	claimed, err := oidc.Peek(token)
	if err != nil {
		return access.Federation{}, fmt.Errorf("AADSTS50027: JWT token is invalid or malformed: %w", err)
	}
	f := access.Federation{Issuer: claimed.Issuer, Subject: claimed.Subject, Audiences: claimed.Audiences}
	if err := s.directory.Trusts(client, f); err != nil {
		return f, err
	}
	verifier := oidc.Verifier{Client: s.options.Issuers, Now: s.options.Now, Leeway: leeway}
	err = verifier.Verify(ctx, token, f.Issuer)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired) || errors.Is(err, jwt.ErrTokenNotValidYet):
		return f, fmt.Errorf("AADSTS700024: Client assertion is not within its valid time range: %w", err)
	case errors.Is(err, oidc.ErrIssuer):
		return f, fmt.Errorf("AADSTS50166: Request to External OIDC endpoint failed: %w", err)
	case err != nil:
		return f, fmt.Errorf("AADSTS700027: Client assertion failed signature validation: %w", err)
	}
	return f, nil
}
