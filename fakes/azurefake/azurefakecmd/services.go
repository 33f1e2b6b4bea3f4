// SPDX-License-Identifier: Apache-2.0

package azurefakecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
)

// A service is a service of storage accounts that the fake does not implement. It has a port, because tools wait for
// it, and rejects each call.
type service struct {
	name, address string
	endpoint      endpoint.Endpoint
}

// services returns the services whose flags have an address.
func (o *options) services() []*service {
	var out []*service
	for _, s := range []*service{{name: "Queue", address: o.queueListen}, {name: "Table", address: o.tableListen}} {
		if s.address != "" {
			out = append(out, s)
		}
	}
	return out
}

// start listens. The host of --listen is the default.
func (s *service) start(o *options) error {
	host, port, err := net.SplitHostPort(s.address)
	if err != nil {
		return fmt.Errorf("listen for %s Storage: %w", s.name, err)
	}
	if host == "" {
		host, _, _ = net.SplitHostPort(o.Listen)
	}
	return s.endpoint.Start(endpoint.Options{Name: s.name + " Storage", Address: net.JoinHostPort(host, port), Handler: s.reject(o), TLS: o.TLSConfig()})
}

func (s *service) announce(w io.Writer) {
	fmt.Fprintf(w, "Azurite %s service is successfully listening at %s\n", s.name, s.endpoint.URL())
}

// reject responds with an error that names the service. Clients do not retry its status.
func (s *service) reject(o *options) http.Handler {
	e := azerr.NotServed(s.name + " Storage")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.name != "Table" {
			e.Write(w, r.Header.Get("X-Ms-Client-Request-Id"), o.Now(), r.Method == http.MethodHead)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Ms-Error-Code", e.Code)
		w.WriteHeader(e.Status)
		_ = json.NewEncoder(w).Encode(map[string]any{"odata.error": map[string]any{ // the client has disconnected
			"code": e.Code, "message": map[string]string{"lang": "en-US", "value": e.Message},
		}})
	})
}

func closeAll(services []*service) error {
	var errs []error
	for _, s := range services {
		errs = append(errs, s.endpoint.Close())
	}
	return errors.Join(errs...)
}
