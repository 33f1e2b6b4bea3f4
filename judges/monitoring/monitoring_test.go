// SPDX-License-Identifier: Apache-2.0

// Package monitoring_test tests the alerts and the dashboard. Prometheus scrapes a system while the tests cause the
// faults that the alerts must detect.
package monitoring_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	testenv.Main(m)
}

// A world is a system with two drivers, a configurable fake and the driver of a store, and the Prometheus
// that scrapes it.
type world struct {
	*systemtest.System
	*scraper

	t *testing.T
	// fake is the configurable driver, and store the name of the other driver.
	fake  *memdriver.Driver
	store string
	// down makes the store reject the driver's requests.
	down atomic.Bool
	// driver are the metrics of the store's driver, and second those of a second sidecar.
	driver, second atomic.Pointer[prometheus.Registry]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.second.Store(prometheus.NewRegistry())
	var told system.Driver
	w.fake, told = systemtest.NewDriver(t, memdriver.Options{
		Revision: "first", Protocols: []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE},
	})
	w.store = "store-" + w.fake.Name()
	s3 := faketest.Start(t, s3fake.New, s3fake.Options{})
	w.System = systemtest.Start(t, system.Options{
		Drivers: []system.Driver{told, {Name: w.store, Serve: w.serve(s3)}},
		Sidecar: sidecar.Options{WatchSecrets: true, RegrantRate: 100, Backoff: reconciler.BackoffOptions{Base: 100 * time.Millisecond, Max: time.Second}},
		Connect: sidecar.ConnectOptions{InfoInterval: 100 * time.Millisecond},
	})
	w.scraper = startPrometheus(t, w.Env, w.targets())
	return w
}

// serve serves the store's driver as a separate process would, with new metrics at each start.
func (w *world) serve(store *s3fake.Server) func(context.Context, string) error {
	credentials, root := credstore.NewMemory(), store.Root()
	return func(ctx context.Context, endpoint string) error {
		registry := prometheus.NewRegistry()
		driver, err := s3driver.New(s3driver.Options{
			Config: s3driver.Config{Cluster: "test", DriverName: w.store, DefaultBackend: "main", Backends: map[string]s3driver.BackendConfig{"main": {
				Type: s3driver.TypeAWS, Endpoint: store.URL(),
				Credentials: s3driver.CredentialsConfig{AccessKeyID: root.AccessKeyID, SecretAccessKey: cosi.NewSecret(root.SecretAccessKey)},
			}}},
			Credentials: credentials, Registerer: registry, WrapTransport: w.breakable,
		})
		if err != nil {
			return err
		}
		w.driver.Store(registry)
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Registry: registry, Logger: slog.New(slog.DiscardHandler)})
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// breakable returns a transport to the store that fails while the store is down, with an error that the SDK
// does not retry.
func (w *world) breakable(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if w.down.Load() {
			return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r}, nil
		}
		return next.RoundTrip(r)
	})
}

// targets serves the metrics of each component as its program does. The metrics of controller-runtime are
// shared by all components in a process and make up most of the output, so only the controller exposes them.
func (w *world) targets() map[string]string {
	addresses := map[string]string{}
	for job, of := range map[string]func() prometheus.Gatherer{
		"controller":     func() prometheus.Gatherer { return prometheus.Gatherers{ctrlmetrics.Registry, w.Controller().Gather()} },
		"sidecar":        func() prometheus.Gatherer { return w.Sidecar(w.fake.Name()).Gather() },
		"store-sidecar":  func() prometheus.Gatherer { return w.Sidecar(w.store).Gather() },
		"second-sidecar": func() prometheus.Gatherer { return w.second.Load() },
		"store-driver":   func() prometheus.Gatherer { return w.driver.Load() },
	} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			promhttp.HandlerFor(of(), promhttp.HandlerOpts{MaxRequestsInFlight: 2}).ServeHTTP(rw, r)
		}))
		w.t.Cleanup(server.Close)
		addresses[job] = strings.TrimPrefix(server.URL, "http://")
	}
	return addresses
}

// TestMonitoring scrapes a system with a real Prometheus. Each alert must fire during its fault, and no other
// alert may fire; the next fault also shows that the previous one has ended. At the end, everything that
// queries name must exist.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "promtool has tried the rules; here they see a system")
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("prometheus is not installed (Debian: prometheus)")
	}
	w := newWorld(t)
	fake := w.fake.Name()
	w.provision(fake)
	w.provision(w.store)
	w.Create(w.claim("waiting", "nobody", cosiapi.ProtocolS3)) // the class does not exist, so the claim is Pending while metrics are scraped
	expiring := w.expiring(24 * time.Hour)
	w.fires("all is well")

	unavailable := func(rpc memdriver.RPC) func() {
		return w.fake.Script(memdriver.Fault{RPC: rpc, Code: codes.Unavailable, Times: memdriver.Always})
	}
	heal := unavailable(memdriver.GrantAccess)
	failing := w.access("failing", fake)
	w.Create(failing)
	w.fires("grants fail", "CosiProvisioningFailing "+fake+" BucketAccess")
	heal()
	w.WaitCondition(failing, cosiapi.ConditionProvisioned)

	heal = unavailable(memdriver.RevokeAccess)
	if err := w.Client().Delete(t.Context(), failing); err != nil {
		t.Fatal(err)
	}
	w.fires("revocations fail", "CosiDeletionStuck "+fake+" BucketAccess")
	heal()

	renewed := w.hangRenewalOf(expiring)
	w.fires("the renewal of a credential hangs", "CosiCredentialNearExpiry "+fake)
	renewed()

	w.down.Store(true)
	w.Restart(w.Driver(w.store))
	unserved := w.claim("unserved", w.store, cosiapi.ProtocolS3)
	w.Create(unserved)
	w.fires("the store refuses the driver", "CosiBackendDown "+w.store+" main", "CosiProvisioningFailing "+w.store+" Bucket")
	w.down.Store(false)
	w.Restart(w.Driver(w.store))
	w.WaitCondition(unserved, cosiapi.ConditionProvisioned)

	w.StopComponent(w.Driver(fake))
	w.fires("only the driver of a Pod stopped", "CosiDriverGone "+fake)
	w.StartComponent(w.Driver(fake))

	w.StopComponent(w.Sidecar(w.store))
	w.fires("a sidecar stopped", "CosiDriverGone "+w.store)
	w.StartComponent(w.Sidecar(w.store))

	w.StopComponent(w.Controller())
	w.fires("the controller stopped", "CosiControllerGone")
	w.StartComponent(w.Controller())

	given := w.secondSidecar()
	w.fires("a second deployment has the name of the driver", "CosiDriverNameTaken "+fake)
	given()

	w.storm()
	w.fires("the driver changes its mind again and again", "CosiRegrantsStorming "+fake)

	for who, q := range queries(t) {
		w.knows(who, q)
	}
}

// provision creates classes, a claim and an access for a driver, and waits until they are ready.
func (w *world) provision(driver string) {
	w.t.Helper()
	about := metav1.ObjectMeta{Name: driver}
	claim := w.claim("claim-"+driver, driver, cosiapi.ProtocolS3)
	access := w.access("access-"+driver, driver)
	w.Create(
		&cosiapi.BucketClass{ObjectMeta: about, Spec: cosiapi.BucketClassSpec{DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyDelete}},
		&cosiapi.BucketAccessClass{ObjectMeta: about, Spec: cosiapi.BucketAccessClassSpec{DriverName: driver, AuthenticationType: cosiapi.AuthenticationTypeKey}},
		claim, access,
	)
	w.WaitCondition(access, cosiapi.ConditionProvisioned)
	passing := w.claim("passing-"+driver, driver, cosiapi.ProtocolS3)
	w.Create(passing)
	w.WaitCondition(passing, cosiapi.ConditionProvisioned)
	w.Delete(passing)
}

func (w *world) claim(name, driver string, protocol cosiapi.Protocol) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: driver, Protocols: []cosiapi.Protocol{protocol}},
	}
}

// access returns an access to the claim of a driver.
func (w *world) access(name, driver string) *cosiapi.BucketAccess {
	return &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: driver, Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: "claim-" + driver, AccessSecretName: name,
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
}

// expiring creates an access whose credential expires after the given time, and returns its Secret.
func (w *world) expiring(after time.Duration) *corev1.Secret {
	w.t.Helper()
	fake := w.fake.Name()
	claim := w.claim("expiring", fake, cosiapi.ProtocolAzure)
	w.Create(claim)
	w.WaitCondition(claim, cosiapi.ConditionProvisioned)
	access := w.access("expiring", fake)
	access.Spec.Protocol, access.Spec.BucketClaims[0].BucketClaimName = cosiapi.ProtocolAzure, claim.Name
	w.fake.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: w.grant(claim, after)})
	w.Create(access)
	w.WaitCondition(access, cosiapi.ConditionProvisioned)
	return &corev1.Secret{ObjectMeta: access.ObjectMeta}
}

// grant returns a response with a credential that expires.
func (w *world) grant(claim *cosiapi.BucketClaim, after time.Duration) *cosi.DriverGrantBucketAccessResponse {
	bucket := testenv.Get(w.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}})
	return &cosi.DriverGrantBucketAccessResponse{
		Buckets: []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{
			BucketId: bucket.Status.BucketID, BucketInfo: &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "account"}},
		}},
		Credentials: &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{
			AccessToken: "https://account.example.com/c?sig=" + after.String(), ExpiryTimestamp: time.Now().Add(after).UTC().Format(time.RFC3339),
		}},
	}
}

// hangRenewalOf makes the renewal of a credential due, and its grant hang until end is called.
func (w *world) hangRenewalOf(secret *corev1.Secret) (end func()) {
	w.t.Helper()
	claim := testenv.Get(w.Env, &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "expiring"}})
	hold := make(chan struct{})
	w.fake.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Hold: hold, Answer: w.grant(claim, 48*time.Hour)})
	due := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	testenv.Change(w.Env, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name}}, func(s *corev1.Secret) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "cooper.dev/renew-at", due)
	})
	return func() { close(hold) }
}

// secondSidecar starts a sidecar of another deployment while a third one owns the driver's name. give
// transfers the name to it.
func (w *world) secondSidecar() (give func()) {
	w.t.Helper()
	held := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: sidecar.LeaseName(w.fake.Name()), Annotations: map[string]string{sidecar.OwnerAnnotation: "elsewhere/driver"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new("gone"), LeaseDurationSeconds: new(int32(1))},
	}
	w.Create(held)
	driver, err := sidecar.Connect(w.t.Context(), sidecar.ConnectOptions{Address: w.Endpoint(w.fake.Name())})
	if err != nil {
		w.t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	manager, err := sidecar.NewManager(w.ControlPlane().Config(), sidecar.ManagerOptions{
		Sidecar: sidecar.Options{Driver: driver, Registerer: registry, Name: "second", Scope: reconciler.Scope{Namespaces: []string{"elsewhere"}}},
		Owner:   "second/driver", LeaderNamespace: w.Namespace,
		// The first acquisition depends on the duration in the Lease above. Afterwards, a busy machine may delay renewals.
		Lease: ctrlmanager.LeaseTimes{Duration: time.Hour, RenewDeadline: 30 * time.Minute, RetryPeriod: 200 * time.Millisecond},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.t.Errorf("the second sidecar: %v", err)
		}
		driver.Close()
	})
	w.second.Store(registry)
	return func() {
		testenv.Change(w.Env, held, func(l *coordinationv1.Lease) { l.Annotations = nil })
	}
}

// storm makes the driver report new configurations so often that its accesses are constantly granted again.
func (w *world) storm() {
	w.t.Helper()
	for revision := range 6 {
		before := len(w.fake.Calls(memdriver.GrantAccess))
		w.fake.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = fmt.Sprint(revision) })
		w.Env.Eventually("both accesses are granted again", func(context.Context) error {
			if n := len(w.fake.Calls(memdriver.GrantAccess)) - before; n < 2 {
				return fmt.Errorf("%d are", n)
			}
			return nil
		})
	}
}
