// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// hygiene records each credential in a scenario and searches for it in the output of all processes.
type hygiene struct {
	// collector is the URL of a trace collector.
	collector string

	mu      sync.Mutex
	secrets map[string]string // by description
	traces  strings.Builder
}

// newHygiene starts with a credential of the drivers themselves.
func newHygiene(t *testing.T) *hygiene {
	t.Helper()
	h := &hygiene{secrets: map[string]string{"the account key of the Azure driver": accountKey}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender was killed
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.traces.Write(body)
	}))
	t.Cleanup(server.Close)
	h.collector = server.URL
	return h
}

// see records the secret values in an access Secret.
func (h *hygiene) see(data map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range []string{"AWS_SECRET_ACCESS_KEY", "HMAC_SECRET", "PRIVATE_KEY"} {
		if data[key] != "" {
			h.secrets[fmt.Sprintf("%s %d", key, len(h.secrets))] = data[key]
		}
	}
	if signed, err := url.Parse(data["AZURE_STORAGE_SAS_TOKEN"]); err == nil && signed.Query().Get("sig") != "" {
		h.secrets[fmt.Sprintf("AZURE_STORAGE_SAS_TOKEN %d", len(h.secrets))] = signed.Query().Get("sig")
	}
}

// search fails the test if a credential is in the logs or traces of controller, sidecars and drivers, which
// have ended, or in any API object other than its Secret.
func (h *hygiene) search(t *testing.T, processes []*process, reader client.Client) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]string{"the traces": h.traces.String()}
	for _, p := range processes {
		if p.program != "cooper" { // a store prints its own credentials
			found["the log of "+p.program] += p.output.String()
		}
	}
	for _, list := range []client.ObjectList{
		&eventsv1.EventList{}, &corev1.ConfigMapList{}, &cosiapi.BucketList{}, &cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{},
	} {
		if err := reader.List(context.WithoutCancel(t.Context()), list); err != nil {
			t.Error(err)
		}
		content, err := json.Marshal(list)
		if err != nil {
			t.Error(err)
		}
		found[fmt.Sprintf("a %T", list)] = string(content)
	}
	redacted := 0
	for where, content := range found {
		if strings.Contains(content, "[redacted]") && strings.Contains(where, "cosi-driver-") {
			redacted++
		}
	}
	blind := len(h.secrets) < 3 || redacted == 0 || !strings.Contains(found["the log of cosi-sidecar"], "[redacted]") ||
		!strings.Contains(found["the traces"], "DriverGrantBucketAccess") || // from sidecars and drivers
		!strings.Contains(found["the traces"], "reconcile BucketClaim") // from the controller
	if blind && !t.Failed() {
		t.Errorf("the check is blind: it knows %d secrets and %d bytes of traces", len(h.secrets), len(found["the traces"]))
	}
	for what, secret := range h.secrets {
		asJSON, err := json.Marshal(secret)
		if err != nil {
			t.Error(err)
		}
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), string(asJSON[1 : len(asJSON)-1]), base64.RawStdEncoding.EncodeToString([]byte(secret)),
		} {
			for where, content := range found {
				if strings.Contains(content, form) {
					t.Errorf("%s is in %s", what, where)
				}
			}
		}
	}
}
