// SPDX-License-Identifier: Apache-2.0

package obc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/obc"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // each manager has its own logger
	testenv.Main(m)
}

// A world is a COSI system with one driver, and cosi-obc with the permissions of its role.
type world struct {
	*testenv.Env

	t *testing.T
	// namespace is the namespace of the system and also the name of its classes.
	namespace string
	driver    string
	user      string
	// refused reports that the test expects the API server to refuse requests of cosi-obc.
	refused bool
	// wrapClient, if set before run, wraps the client of cosi-obc.
	wrapClient func(client.Client) client.Client
}

// shortTests are the tests with a system that the short tier runs.
var shortTests = []string{
	"TestClaimsAsTheirDesignHasThem", "TestReclaimPolicyRetain", "TestNamesAndConfigOfNewBuckets", "TestChangesOfBoundClaims", "TestChangesOfOtherBucketClaims",
}

// newWorld starts a system with the driver and creates classes named after its namespace.
func newWorld(t *testing.T, driver system.Driver) *world {
	t.Helper()
	fulltest.Named(t, shortTests)
	return newWorldOn(t, testenv.Start(t, testenv.Options{}), driver, func(*unstructured.Unstructured) {})
}

// newWorldOn is newWorld on a given control plane. edit changes the objects of deploy/obc before they are created.
func newWorldOn(t *testing.T, env *testenv.Env, driver system.Driver, edit func(*unstructured.Unstructured)) *world {
	t.Helper()
	w := &world{Env: env, t: t, driver: driver.Name}
	w.install(edit)
	w.namespace = systemtest.StartOn(t, env, system.Options{Drivers: []system.Driver{driver}}).Namespace
	w.user = "system:serviceaccount:cosi-system:cosi-obc-" + w.namespace
	w.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "cosi-obc-" + w.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cosi-obc"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user}},
	})
	w.Create(&cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec:       cosiapi.BucketClassSpec{DriverName: w.driver, DeletionPolicy: cosiapi.DeletionPolicyDelete},
	})
	w.Create(&cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: w.driver, AuthenticationType: cosiapi.AuthenticationTypeKey},
	})
	t.Cleanup(func() {
		for _, e := range env.Audit(controlplane.AuditFilter{User: w.user}) {
			if e.Code == 403 && e.Resource != "events" && !w.refused {
				t.Errorf("the role of cosi-obc does not allow it to %s %s/%s %s/%s", e.Verb, e.Resource, e.Subresource, e.Namespace, e.Name)
			}
		}
	})
	return w
}

// start calls newWorld with an in-memory driver and runs cosi-obc.
func start(t *testing.T) (*world, *memdriver.Driver) {
	t.Helper()
	driver, part := systemtest.NewDriver(t, memdriver.Options{})
	w := newWorld(t, part)
	w.run()
	return w, driver
}

// installing serializes installations by the tests of this binary, which share a control plane.
var installing sync.Mutex

// install applies the CRDs, roles and the policy of deploy/obc, without the objects of one installation.
func (w *world) install(edit func(*unstructured.Unstructured)) {
	w.t.Helper()
	installing.Lock()
	defer installing.Unlock()
	for _, file := range []string{"crds/objectbucket.io_objectbucketclaims.yaml", "crds/objectbucket.io_objectbuckets.yaml", "role.yaml", "users.yaml", "policy.yaml"} {
		data, err := os.ReadFile(filepath.Join("../deploy/obc", file))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, object := range w.decode(string(data)) {
			if object.GetNamespace() != "" {
				continue
			}
			edit(object)
			if err := w.Client.Create(w.t.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
				w.t.Fatalf("%s: %v", file, err)
			}
		}
	}
	w.Eventually("the kinds are served", func(ctx context.Context) error {
		return errors.Join(w.Client.List(ctx, &objectbucket.ObjectBucketClaimList{}), w.Client.List(ctx, &objectbucket.ObjectBucketList{}))
	})
}

// decode returns the objects of a manifest.
func (w *world) decode(manifest string) []*unstructured.Unstructured {
	w.t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifest)), 4096)
	var all []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			w.t.Fatalf("decode: %v\n%s", err, manifest)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// apply applies a manifest in the namespace of the world.
func (w *world) apply(manifest string) {
	w.t.Helper()
	for _, object := range w.decode(manifest) {
		if object.GetKind() != "StorageClass" && object.GetNamespace() == "" {
			object.SetNamespace(w.namespace)
		}
		if object.GetKind() == "StorageClass" {
			w.t.Cleanup(func() { _ = w.Client.Delete(context.WithoutCancel(w.t.Context()), object) })
		}
		configuration := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := w.Client.Apply(w.t.Context(), configuration, client.FieldOwner("test"), client.ForceOwnership); err != nil {
			w.t.Fatalf("apply %s: %v", object.GetName(), err)
		}
	}
}

// run starts cosi-obc. It stops at the end of the test or when the returned function is called.
func (w *world) run() (stop func()) {
	w.t.Helper()
	config := w.User(w.user, "system:serviceaccounts")
	w.Eventually("the role of cosi-obc counts", w.mayWork)
	mgr, err := obc.NewManager(config, obc.Options{
		Scope: reconciler.Scope{Namespaces: []string{w.namespace}}, Registerer: prometheus.NewRegistry(), Name: w.namespace,
		Resync: time.Hour, Backoff: reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}, Logger: w.logger(), WrapClient: w.wrapClient,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("cosi-obc: %v", err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

func (w *world) mayWork(ctx context.Context) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               w.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Group: objectbucket.GroupName, Resource: "objectbuckets", Verb: "list"},
	}}
	if err := w.Client.Create(ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return errors.New("it does not: " + review.Status.Reason)
	}
	return nil
}

// logger collects the logs of cosi-obc and prints them if the test fails.
func (w *world) logger() logr.Logger {
	var mu sync.Mutex
	var lines []string
	w.t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if w.t.Failed() {
			w.t.Logf("log of cosi-obc:\n%s", strings.Join(lines, "\n"))
		}
	})
	return funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, prefix+" "+args)
	}, funcr.Options{Verbosity: 1})
}

// storageClass creates a StorageClass that COSI serves, named after the namespace and a suffix.
func (w *world) storageClass(suffix string, policy corev1.PersistentVolumeReclaimPolicy, parameters map[string]string) string {
	w.t.Helper()
	all := map[string]string{"bucketAccessClassName": w.namespace}
	maps.Copy(all, parameters)
	if all["bucketName"] == "" && all["bucketClassName"] == "" {
		all["bucketClassName"] = w.namespace
	}
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace + suffix}, Provisioner: w.driver + objectbucket.ProvisionerSuffix,
		Parameters: all, ReclaimPolicy: ptr.To(policy),
	}
	w.Create(class)
	return class.Name
}

// claim returns a claim with a StorageClass. It does not create it.
func (w *world) claim(name, class string) *objectbucket.ObjectBucketClaim {
	return &objectbucket.ObjectBucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       objectbucket.ObjectBucketClaimSpec{StorageClassName: class, GenerateBucketName: "photo-booth"},
	}
}

// phase waits until a claim has a phase and a message that contains text.
func (w *world) phase(claim *objectbucket.ObjectBucketClaim, phase objectbucket.Phase, text string) *objectbucket.ObjectBucketClaim {
	w.t.Helper()
	return testenv.Until(w.Env, claim, "the claim is "+string(phase), func(c *objectbucket.ObjectBucketClaim) error {
		if c.Status.Phase != phase || !strings.Contains(c.Status.Message, text) {
			return fmt.Errorf("it is %q: %s", c.Status.Phase, c.Status.Message)
		}
		return nil
	})
}

// bind creates a claim and waits until it is bound.
func (w *world) bind(name, class string) *objectbucket.ObjectBucketClaim {
	w.t.Helper()
	claim := w.claim(name, class)
	if strings.HasSuffix(class, existing) {
		claim.Spec.GenerateBucketName = ""
	}
	w.Create(claim)
	return w.phase(claim, objectbucket.PhaseBound, "")
}

// existing is the suffix of StorageClasses with an existing bucket.
const existing = "-existing"

// environment returns the variables that a Pod gets with envFrom.
func (w *world) environment(name string) map[string]string {
	w.t.Helper()
	meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
	secret, configMap := testenv.Get(w.Env, &corev1.Secret{ObjectMeta: meta}), testenv.Get(w.Env, &corev1.ConfigMap{ObjectMeta: meta})
	all := maps.Clone(configMap.Data)
	for key, value := range secret.Data {
		all[key] = string(value)
	}
	return all
}

// left lists the objects that cosi-obc and COSI have created for claims, in the namespace and cluster-wide.
func (w *world) left(ctx context.Context) ([]string, error) {
	var names []string
	for _, list := range []client.ObjectList{
		&objectbucket.ObjectBucketClaimList{}, &cosiapi.BucketClaimList{}, &cosiapi.BucketAccessList{}, &corev1.SecretList{},
	} {
		if err := w.Client.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return nil, err
		}
		names = append(names, namesOf(list)...)
	}
	configMaps := &corev1.ConfigMapList{}
	if err := w.Client.List(ctx, configMaps, client.InNamespace(w.namespace), client.HasLabels{objectbucket.ProvisionerLabel}); err != nil {
		return nil, err
	}
	names = append(names, namesOf(configMaps)...)
	objectBuckets, buckets := &objectbucket.ObjectBucketList{}, &cosiapi.BucketList{}
	if err := errors.Join(w.Client.List(ctx, objectBuckets), w.Client.List(ctx, buckets)); err != nil {
		return nil, err
	}
	for _, o := range objectBuckets.Items {
		if o.Spec.ClaimRef != nil && o.Spec.ClaimRef.Namespace == w.namespace {
			names = append(names, "ObjectBucket "+o.Name)
		}
	}
	for _, b := range buckets.Items {
		if b.Spec.BucketClaimRef.Namespace == w.namespace {
			names = append(names, "Bucket "+b.Name)
		}
	}
	classes := &cosiapi.BucketClassList{}
	if err := w.Client.List(ctx, classes); err != nil {
		return nil, err
	}
	for _, c := range classes.Items {
		if c.Spec.DriverName == w.driver && c.Name != w.namespace {
			names = append(names, "BucketClass "+c.Name)
		}
	}
	return names, nil
}

func namesOf(list client.ObjectList) []string {
	var names []string
	switch l := list.(type) {
	case *objectbucket.ObjectBucketClaimList:
		for _, o := range l.Items {
			names = append(names, "ObjectBucketClaim "+o.Name)
		}
	case *cosiapi.BucketClaimList:
		for _, o := range l.Items {
			names = append(names, "BucketClaim "+o.Name)
		}
	case *cosiapi.BucketAccessList:
		for _, o := range l.Items {
			names = append(names, "BucketAccess "+o.Name)
		}
	case *corev1.SecretList:
		for _, o := range l.Items {
			names = append(names, "Secret "+o.Name)
		}
	case *corev1.ConfigMapList:
		for _, o := range l.Items {
			names = append(names, "ConfigMap "+o.Name)
		}
	}
	return names
}

// nothingLeft waits until no objects of claims remain except the named ones.
func (w *world) nothingLeft(but ...string) {
	w.t.Helper()
	w.Eventually("nothing is left", func(ctx context.Context) error {
		names, err := w.left(ctx)
		if err != nil {
			return err
		}
		if got, want := strings.Join(names, ", "), strings.Join(but, ", "); got != want {
			return fmt.Errorf("there is %q, want %q", got, want)
		}
		return nil
	})
}
