// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/credstore/kube"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

// serveStore serves a credential store with the Sidecar's permissions, which bindCredentials gives it, and returns the
// driver's client.
func (s *system) serveStore() (*kube.Server, *credstore.Remote) {
	s.t.Helper()
	s.untilMay(true, authorizationv1.ResourceAttributes{Resource: "secrets", Verb: "list", Namespace: s.namespace})
	address := "unix://" + filepath.Join(processtest.ShortTempDir(s.t), "credentials.sock")
	store, err := kube.Serve(s.t.Context(), s.User(s.user), s.namespace, address, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	client, err := credstore.Dial(address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = client.Close() })
	return store, client
}

// TestCredentialStoreOfALeader checks that the store refuses calls until the Sidecar holds its Lease, so a driver
// cannot read another driver's store by using its name.
func TestCredentialStoreOfALeader(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.bindCredentials()
	s.bindLeader()
	testenv.Change(s.Env, s.lease(), func(l *coordinationv1.Lease) {
		l.Annotations = map[string]string{sidecar.OwnerAnnotation: "elsewhere/driver"}
	})
	store, client := s.serveStore()
	s.elected("store/driver", "first")
	s.manager.CredentialStore = store
	stop := s.run()
	s.Eventually("the Sidecar detects that another deployment owns the name", func(context.Context) error {
		return testutil.GatherAndCompare(s.metrics, strings.NewReader(fmt.Sprintf(`
# HELP cosi_sidecar_driver_name_taken 1 while another deployment owns the driver name and this sidecar is therefore passive.
# TYPE cosi_sidecar_driver_name_taken gauge
cosi_sidecar_driver_name_taken{driver_name=%q} 1
`, s.driver.Name())), "cosi_sidecar_driver_name_taken")
	})
	if _, err := client.ID(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("the store of a Sidecar that does not work: %v, want Unavailable", err)
	}
	testenv.Change(s.Env, s.lease(), func(l *coordinationv1.Lease) { l.Annotations = nil })
	s.Eventually("the store is open", func(ctx context.Context) error {
		_, err := client.ID(ctx)
		return err
	})
	version, err := client.Put(t.Context(), "ba-1", cosi.NewSecret("mine"), "")
	if err != nil {
		t.Fatal(err)
	}
	stop()
	// The manager has ended. Driver calls that it started may still write.
	if _, err := client.Put(t.Context(), "ba-1", cosi.NewSecret("mine, too"), version); err != nil {
		t.Errorf("after the manager has stopped: %v", err)
	}
	if err := store.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := client.ID(t.Context()); status.Code(err) != codes.Unavailable {
		t.Errorf("after the end: %v, want Unavailable", err)
	}
}

// TestCredentialStoreDuringARPC lets a driver write to its store during a call that runs while the Sidecar is being
// stopped.
func TestCredentialStoreDuringARPC(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := newSystem(t, memdriver.Options{})
	s.bindCredentials()
	s.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Hold: hold})
	store, client := s.serveStore()
	s.manager.CredentialStore = store
	stop := s.run()
	bucket := s.bucket()
	s.Create(bucket)
	s.Eventually("the driver creates the bucket", func(context.Context) error {
		if !slices.Contains(s.calls(), memdriver.CreateBucket) {
			return errors.New("it was not asked to")
		}
		return nil
	})
	s.cancel()
	if _, err := client.Put(t.Context(), "ba-1", cosi.NewSecret("mine"), ""); err != nil {
		t.Errorf("during the last RPC: %v", err)
	}
	close(hold)
	stop()
	if err := store.Stop(); err != nil {
		t.Error(err)
	}
}
