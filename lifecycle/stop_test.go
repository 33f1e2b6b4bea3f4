// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/controller"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestStopBeforeTheCachesAreFilled verifies that controller and sidecar can be stopped while they wait for
// permission to list their objects, or for the API server.
func TestStopBeforeTheCachesAreFilled(t *testing.T) {
	t.Parallel()
	for who, manager := range map[string]func(*testing.T, *rest.Config, string) (ctrl.Manager, error){
		theController: func(_ *testing.T, config *rest.Config, name string) (ctrl.Manager, error) {
			return controller.NewManager(config, controller.ManagerOptions{
				Controller: controller.Options{Registerer: prometheus.NewRegistry(), Name: name},
			})
		},
		theSidecar: func(t *testing.T, config *rest.Config, name string) (ctrl.Manager, error) {
			t.Helper()
			fake := memdriver.New(memdriver.Options{Name: name + ".fake.cooper.dev"})
			address := "unix://" + filepath.Join(processtest.ShortTempDir(t), "d.sock")
			server, err := fake.Start(address)
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			})
			driver, err := sidecar.Connect(t.Context(), sidecar.ConnectOptions{Address: address})
			if err != nil {
				return nil, err
			}
			t.Cleanup(driver.Close)
			return sidecar.NewManager(config, sidecar.ManagerOptions{
				Sidecar: sidecar.Options{Driver: driver, Registerer: prometheus.NewRegistry()},
			})
		},
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			env := testenv.Start(t, testenv.Options{})
			refused := make(chan struct{}, 1)
			config := env.User("nobody-" + env.Namespace())
			config.Wrap(func(next roundTripper) roundTripper { return refusals{next: next, seen: refused} })
			mgr, err := manager(t, config, env.Namespace())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- mgr.Start(ctx) }()
			select {
			case <-refused:
			case <-time.After(patience()):
				t.Fatalf("the %s is not refused", who)
			}
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("the end of the %s: %v", who, err)
				}
			case <-time.After(patience()):
				t.Fatalf("the %s does not end", who)
			}
		})
	}
}

// refusals reports requests that the API server rejects.
type refusals struct {
	next roundTripper
	seen chan<- struct{}
}

// RoundTrip implements http.RoundTripper.
func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusForbidden {
		select {
		case r.seen <- struct{}{}:
		default:
		}
	}
	return response, err
}
