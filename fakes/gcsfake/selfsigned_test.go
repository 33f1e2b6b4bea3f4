// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/golang-jwt/jwt/v5"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// selfSigned is a JWT that the administrator signs: for Cloud Storage and an hour, unless claims say otherwise.
func selfSigned(t *testing.T, raw []byte, claims jwt.MapClaims) string {
	t.Helper()
	var key struct {
		ID      string `json:"private_key_id"`
		Private string `json:"private_key"`
		Email   string `json:"client_email"`
	}
	wantNoError(t, json.Unmarshal(raw, &key))
	private, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(key.Private))
	wantNoError(t, err)
	now := time.Now()
	all := jwt.MapClaims{"iss": key.Email, "sub": key.Email, "aud": "https://storage.googleapis.com/", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, all)
	token.Header["kid"] = key.ID
	text, err := token.SignedString(private)
	wantNoError(t, err)
	return text
}

// TestSelfSigned calls every service with JWTs that a service account signed itself ("Service account authorization
// without OAuth", AIP-4111). Their times are judged at the token endpoint, too.
func TestSelfSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	key, err := w.AdminKey("http://127.0.0.1")
	wantNoError(t, err)
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	const scope = "https://www.googleapis.com/auth/cloud-platform"
	services := map[string]operation{
		"JSON": {method: "GET", path: o}, "XML": {method: "GET", path: "/docs/o"}, "IAM": {method: "GET", path: sa},
		"Resource Manager": {method: "GET", path: "/v1/projects/cooper-fake"},
	}
	tests := map[string]struct {
		claims jwt.MapClaims
		// accepts are the services that accept it, nil for none.
		accepts []string
	}{
		"for Cloud Storage":            {jwt.MapClaims{}, []string{"JSON", "XML"}},
		"for IAM":                      {jwt.MapClaims{"aud": "https://iam.googleapis.com/"}, []string{"IAM"}},
		"for Resource Manager":         {jwt.MapClaims{"aud": "https://cloudresourcemanager.googleapis.com/"}, []string{"Resource Manager"}},
		"for this server":              {jwt.MapClaims{"aud": "http://127.0.0.1/"}, []string{"JSON", "XML", "IAM", "Resource Manager"}},
		"with a scope":                 {jwt.MapClaims{"aud": "", "scope": scope}, []string{"JSON", "XML", "IAM", "Resource Manager"}},
		"with a scope of storage":      {jwt.MapClaims{"aud": nil, "scope": "https://www.googleapis.com/auth/devstorage.read_only"}, []string{"JSON", "XML"}},
		"for 59 minutes, a minute ago": {jwt.MapClaims{"iat": in(-time.Minute), "exp": in(58 * time.Minute)}, []string{"JSON", "XML"}},
		"for nothing":                  {jwt.MapClaims{"aud": nil}, nil},
		"for another service":          {jwt.MapClaims{"aud": "https://pubsub.googleapis.com/"}, nil},
		"for somebody else":            {jwt.MapClaims{"aud": "https://example.com/"}, nil},
		"for the token endpoint":       {jwt.MapClaims{"aud": "https://oauth2.googleapis.com/token", "scope": scope}, nil},
		"for an hour and a second":     {jwt.MapClaims{"iat": in(0), "exp": in(time.Hour + time.Second)}, nil},
		"for a year":                   {jwt.MapClaims{"exp": in(365 * 24 * time.Hour)}, nil},
		"issued in an hour":            {jwt.MapClaims{"iat": in(time.Hour), "exp": in(2 * time.Hour)}, nil},
		"issued at no time":            {jwt.MapClaims{"iat": nil}, nil},
		"that never ends":              {jwt.MapClaims{"exp": nil}, nil},
		"that ended a minute ago":      {jwt.MapClaims{"iat": in(-time.Hour), "exp": in(-time.Minute)}, nil},
		"that begins later":            {jwt.MapClaims{"nbf": in(30 * time.Minute)}, nil},
		"for another's account":        {jwt.MapClaims{"sub": "target@cooper-fake.iam.gserviceaccount.com"}, nil},
		"of an account that is none":   {jwt.MapClaims{"iss": "none@cooper-fake.iam.gserviceaccount.com"}, nil},
		"of another account, its name": {jwt.MapClaims{"iss": "target@cooper-fake.iam.gserviceaccount.com"}, nil},
	}
	for name, tc := range tests {
		token := selfSigned(t, key, tc.claims)
		accepts := map[string]bool{}
		for _, service := range tc.accepts {
			accepts[service] = true
		}
		for service, op := range services {
			got := w.send(t, token, op).Code
			if accepted := got == http.StatusOK; accepted != accepts[service] || !accepted && got != http.StatusUnauthorized && tc.accepts == nil {
				t.Errorf("%s: a JWT %s: %d, want it accepted: %t", service, name, got, accepts[service])
			}
		}
	}
	for name, claims := range map[string]jwt.MapClaims{
		"for an hour and a second": {"iat": in(0), "exp": in(time.Hour + time.Second)}, "issued in an hour": {"iat": in(time.Hour), "exp": in(2 * time.Hour)}, "issued at no time": {"iat": nil},
	} {
		claims["aud"], claims["scope"] = "http://127.0.0.1/token", scope
		form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {selfSigned(t, key, claims)}}
		if got := w.send(t, "", operation{method: "POST", path: "/token", headers: "Content-Type: application/x-www-form-urlencoded", body: form.Encode()}); got.Code != http.StatusBadRequest {
			t.Errorf("an assertion %s: %d %s", name, got.Code, got.Body)
		}
	}
}

// TestClientsGiveUpOnWhatIsNotServed calls it with Google's clients and no deadline: they repeat what fails with 5xx.
func TestClientsGiveUpOnWhatIsNotServed(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{})
	ctx := t.Context()
	client := f.storage(t, f.adminKey(t))
	fine := client.Bucket("fine")
	wantNoError(t, fine.Create(ctx, f.ProjectID(), nil))
	wantNoError(t, write(ctx, fine.Object("o"), []byte("x"), 0))
	_, notifications := fine.Notifications(ctx)
	_, contexts := fine.Object("o").Update(ctx, storage.ObjectAttrsToUpdate{Contexts: &storage.ObjectContexts{Custom: map[string]storage.ObjectCustomContextPayload{"a": {Value: "b"}}}})
	_, filter := fine.Objects(ctx, &storage.Query{Filter: `contexts."a":*`}).Next()
	for what, err := range map[string]error{"notifications": notifications, "contexts": contexts, "a filter": filter} {
		if status(err) != http.StatusBadRequest {
			t.Errorf("%s: %v, want 400", what, err)
		}
	}
	if calls := len(f.Calls()); calls > 8 {
		t.Errorf("%d calls: something was repeated", calls)
	}
}

// TestTheAdministratorOfAllProjects uses the one key that is handed out in the other projects.
func TestTheAdministratorOfAllProjects(t *testing.T) {
	t.Parallel()
	f := start(t, gcsfake.Options{Projects: []gcsfake.Project{{ID: "project-one"}, {ID: "project-two"}}})
	key := f.adminKey(t)
	if err := f.storage(t, key).Bucket("second").Create(t.Context(), "project-two", nil); err != nil {
		t.Error(err)
	}
	if _, err := f.iam(t, key).Projects.ServiceAccounts.List("projects/project-two").Context(t.Context()).Do(); err != nil {
		t.Error(err)
	}
	// The administrator of another project stays in it.
	token, err := f.Token(f.AdminEmail("project-two"))
	wantNoError(t, err)
	if got := (&world{Server: f.Server}).send(t, token, operation{method: "GET", path: "/storage/v1/b?project=project-one"}); got.Code != http.StatusForbidden {
		t.Errorf("the administrator of the second project lists the buckets of the first: %d", got.Code)
	}
}
