// SPDX-License-Identifier: Apache-2.0

//go:build !s3only

package up

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/docs/tutorial"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// gcsPool is the workload identity pool of this cluster, named as on GKE.
const gcsPool = gcsfake.DefaultProject + ".svc.id.goog"

// apiServer is the fake's HTTP transport to the API server, from which the fake fetches the keys that verify
// workloads' tokens. The fake starts before the API server, so the client is set later.
type apiServer struct{ way atomic.Pointer[http.Client] }

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	client := a.way.Load()
	if client == nil {
		return nil, errors.New("the API server has not started yet")
	}
	return client.Transport.RoundTrip(request)
}

// join creates the pool for the service accounts of the API server.
func (a *apiServer) join(ctx context.Context, server *gcsfake.Server, config *rest.Config) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(config.Host, "/")+"/.well-known/openid-configuration", http.NoBody)
	if err != nil {
		return fmt.Errorf("get the issuer of the API server: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("get the issuer of the API server: %w", err)
	}
	var discovery struct{ Issuer string }
	err = json.NewDecoder(response.Body).Decode(&discovery)
	if err == nil && discovery.Issuer == "" {
		err = errors.ErrUnsupported // the discovery document has no issuer
	}
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("get the issuer of the API server: %s: %w", response.Status, err)
	}
	a.way.Store(client)
	return server.AddPool(gcsfake.Pool{ID: gcsPool, Issuer: discovery.Issuer})
}

// startGCS starts the fake Cloud Storage and IAM.
func startGCS(_ context.Context, o Options, logger *slog.Logger) (*store, error) {
	issuer := &apiServer{}
	server, err := gcsfake.New(gcsfake.Options{
		Address: address(o.portOf("gcs", o.GCSPort)), Dir: o.stateOf("gcs"), Issuers: &http.Client{Transport: issuer},
	})
	if err != nil {
		return nil, fmt.Errorf("create the fake Cloud Storage: %w", err)
	}
	s := &store{
		name: gcsName, driver: system.Driver{Name: tutorial.GCSDriverName},
		join: func(ctx context.Context, config *rest.Config) error { return issuer.join(ctx, server, config) },
	}
	return o.start(s, "gcs", server, logger, func() (driverkit.Driver, error) { return newGCSDriver(o, server) })
}

// newGCSDriver creates a driver that acts as administrator of the fake's project.
func newGCSDriver(o Options, server *gcsfake.Server) (*gcsdriver.Driver, error) {
	keys, err := credentials.OpenDirectory(o.Dir.Credentials("gcs"))
	if err != nil {
		return nil, fmt.Errorf("open the credential store of the GCS driver: %w", err)
	}
	key, err := server.AdminKey("")
	if err != nil {
		return nil, fmt.Errorf("create the administrator key of the GCS driver: %w", err)
	}
	file := filepath.Join(filepath.Dir(o.Dir.Credentials("gcs")), "gcs-administrator.json")
	if err := os.WriteFile(file, key, 0o600); err != nil {
		return nil, fmt.Errorf("write the administrator key of the GCS driver: %w", err)
	}
	return gcsdriver.New(gcsdriver.Options{
		Config: gcsdriver.Config{
			DriverName: tutorial.GCSDriverName,
			Backends: map[string]gcsdriver.BackendConfig{
				"fake": {
					Project: server.ProjectID(), Endpoint: server.URL(), CredentialsFile: file,
					WorkloadIdentity: gcsdriver.WorkloadIdentityConfig{
						Pool: "projects/" + server.ProjectNumber("") + "/locations/global/workloadIdentityPools/" + gcsPool,
					},
				},
			},
		},
		Credentials: keys, TracerProvider: o.tracer,
	})
}
