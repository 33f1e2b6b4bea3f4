// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/migrate"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

const (
	// root is the root of the repository.
	root = "../../../.."
	// oldObjects are the objects of the how-to; moreObjects add the cases that fail.
	crdFile     = root + "/docs/howto/v1alpha1/crds.yaml"
	oldObjects  = root + "/docs/howto/v1alpha1/objects.yaml"
	moreObjects = `
apiVersion: objectstorage.k8s.io/v1alpha1
kind: Bucket
metadata: {name: bucket-going, finalizers: [cosi.objectstorage.k8s.io/bucket-protection]}
spec: {driverName: objectstorage.vendor.example, deletionPolicy: Retain, bucketClaim: {namespace: team-a, name: going}}
status: {bucketReady: true, bucketID: going}
---
apiVersion: objectstorage.k8s.io/v1alpha1
kind: BucketClaim
metadata: {namespace: team-a, name: going, finalizers: [cosi.objectstorage.k8s.io/bucketclaim-protection]}
spec: {bucketClassName: store, protocols: [S3]}
status: {bucketReady: true, bucketName: bucket-going}
---
apiVersion: v1
kind: Pod
metadata: {namespace: team-a, name: photo-booth}
spec:
  containers: [{name: app, image: app, envFrom: [{secretRef: {name: photos}}]}]
`
	unbound = `
apiVersion: objectstorage.k8s.io/v1alpha1
kind: BucketClaim
metadata: {namespace: team-a, name: unbound}
spec: {bucketClassName: store, protocols: [S3]}
`
)

// A world is a cluster with v1alpha1 and a store with one of its buckets.
type world struct {
	*testenv.Env

	t          *testing.T
	store      *s3fake.Server
	kubeconfig string
	planner    *rest.Config
	options    migrate.Options
}

// start creates a cluster in which v1alpha2 was never installed.
func start(t *testing.T) *world {
	t.Helper()
	crds := map[string][]byte{}
	for i, document := range strings.Split(readFile(t, crdFile), "\n---\n") {
		crds[fmt.Sprint(i)] = []byte(document)
	}
	w := &world{Env: testenv.Start(t, testenv.Options{CRDs: crds}), t: t, store: faketest.Start(t, s3fake.New, s3fake.Options{})}
	w.kubeconfig, w.planner = w.Kubeconfig(w.Config(), "default"), w.User("planner", "system:masters")
	w.options = migrate.Options{
		Backup: filepath.Join(t.TempDir(), "v1alpha1.yaml"), From: "objectstorage.vendor.example", Driver: "s3.cooper.dev", Suffix: "-v1alpha2",
		AccessClasses: map[string]string{"store-keys": "sample"},
	}
	w.shell("kubectl create namespace team-a && kubectl apply -f "+oldObjects+" && kubectl apply -f -", moreObjects)
	w.shell("kubectl -n team-a delete --wait=false bucketclaims.objectstorage.k8s.io going", "")
	access := w.old("BucketAccess", "team-a", "photos")
	w.Create(&corev1.Secret{ // owned by an object of v1alpha1
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team-a", Name: "photos", Finalizers: []string{"cosi.objectstorage.k8s.io/secret-protection"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "objectstorage.k8s.io/v1alpha1", Kind: "BucketAccess", Name: "photos", UID: access.GetUID()}},
		},
		StringData: map[string]string{"BucketInfo": `{"spec":{"secretS3":{}}}`},
	})
	_, err := w.administrator().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("photos-of-team-a")})
	if err == nil {
		_, err = w.administrator().PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("photos-of-team-a"), Key: aws.String("old"), Body: strings.NewReader("smile")})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// shell runs a script as the administrator would.
func (w *world) shell(script, stdin string) string {
	w.t.Helper()
	command := exec.CommandContext(w.t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig, "PATH="+filepath.Dir(w.ControlPlane.Kubectl())+":"+os.Getenv("PATH"))
	command.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s%s", script, err, out, stderr.String())
	}
	return string(out)
}

func (w *world) old(kind, namespace, name string) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "objectstorage.k8s.io", Version: "v1alpha1", Kind: kind})
	if err := w.Client.Get(w.t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object); err != nil {
		w.t.Fatal(err)
	}
	return object
}

func (w *world) administrator() *s3.Client {
	credential := w.store.Root()
	return w.client(credential.AccessKeyID, credential.SecretAccessKey)
}

func (w *world) client(id, secret string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(w.store.URL()), Region: w.store.Region(), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
	})
}

// read reads the object that was stored before the migration.
func (w *world) read(c *s3.Client) (string, error) {
	object, err := c.GetObject(w.t.Context(), &s3.GetObjectInput{Bucket: aws.String("photos-of-team-a"), Key: aws.String("old")})
	if err != nil {
		return "", err
	}
	defer object.Body.Close()
	text, err := io.ReadAll(object.Body)
	return string(text), err
}

// backup runs the backup command of the how-to.
func (w *world) backup() {
	w.t.Helper()
	kinds := []string{"buckets", "bucketclaims", "bucketaccesses", "bucketclasses", "bucketaccessclasses"}
	for i := range kinds {
		kinds[i] += ".v1alpha1.objectstorage.k8s.io"
	}
	w.shell("kubectl get --all-namespaces "+strings.Join(kinds, ",")+" -o yaml >"+w.options.Backup, "")
}

// plan prints the plan repeatedly until it is stable. Only a step, or a deletion that completes, may change
// the plan.
func (w *world) plan() string {
	w.t.Helper()
	ask := func() string {
		var text bytes.Buffer
		if err := migrate.Run(w.t.Context(), w.planner, w.options, &text); err != nil {
			w.t.Fatal(err)
		}
		return text.String()
	}
	const most = 10 // an object may disappear between two plans, but only once
	before, plan := ask(), ask()
	for n := 0; n < most && before != plan; n++ {
		before, plan = plan, ask()
	}
	if diff := cmp.Diff(before, plan); diff != "" {
		w.t.Errorf("the plan, asked again (-before +now):\n%s", diff)
	}
	return plan
}

var (
	stepLine = regexp.MustCompile(`(?m)^# (\d)\. (\(done\) )?`)
	command  = regexp.MustCompile(`(?m)^# {6}(kubectl .*)$`)
)

// next returns the first command of the plan up to and including a step. It is empty if those steps are done.
func next(plan, last string) string {
	for _, at := range stepLine.FindAllStringSubmatchIndex(plan, -1) {
		if plan[at[2]:at[3]] > last {
			return ""
		}
		left := plan[at[1]:]
		if end := stepLine.FindStringIndex(left); end != nil {
			left = left[:end[0]]
		}
		if found := command.FindStringSubmatch(left); found != nil && at[4] < 0 {
			return found[1]
		}
	}
	return ""
}

// TestMigration follows the plan on a cluster with v1alpha1 and prints a new plan after each command. At the
// end, both the new and the old credential can read the object that was stored before, and only the objects
// that the plan names were changed.
func TestMigration(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a control plane of its own; TestPlan, TestOrder and TestBackupFits have the rules")
	w := start(t)
	secret := testenv.Get(w.Env, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "photos"}})
	w.backup()

	first := w.plan()
	for _, part := range []string{
		"# 1. Set the deletion policy", "# 4. Delete the v1alpha1 CRDs", "The commands are printed after steps 1, 2 and 3 are done.",
		"team-a/going is skipped: it is being deleted",
		"Secret team-a/photos is used by Pods photo-booth.", "kind: BucketAccess\n",
	} {
		if !strings.Contains(first, part) {
			t.Errorf("the plan lacks %q:\n%s", part, first)
		}
	}
	w.shell("kubectl apply -f -", unbound)
	if err := migrate.Run(t.Context(), w.planner, w.options, io.Discard); err == nil || !strings.Contains(err.Error(), "BucketClaim team-a/unbound is not in the backup") {
		t.Errorf("with a claim that the backup lacks: %v", err)
	}
	w.backup()

	w.follow("3")
	w.shell("kubectl delete crd bucketaccesses.objectstorage.k8s.io --wait=false", "") // blocked by the finalizers
	w.follow("4")
	if left := w.shell("kubectl get crd -o name", ""); strings.Contains(left, "objectstorage.k8s.io") {
		t.Errorf("left of v1alpha1:\n%s", left)
	}
	w.shell("kubectl apply --server-side -f "+root+"/deploy/crds && kubectl wait --for=condition=Established -f "+root+"/deploy/crds", "")
	w.serve()
	w.shell("kubectl apply -f "+root+"/docs/tutorial/1-classes.yaml", "")
	plan := w.plan()
	w.shell("kubectl apply -f -", plan)
	w.shell("kubectl apply -f -", plan) // applying again must be harmless
	w.shell(next(w.plan(), "6"), "")

	fresh := testenv.Get(w.Env, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "photos-v1alpha2"}}).Data
	for name, c := range map[string]*s3.Client{"new": w.client(string(fresh["AWS_ACCESS_KEY_ID"]), string(fresh["AWS_SECRET_ACCESS_KEY"])), "old": w.administrator()} {
		if text, err := w.read(c); err != nil || text != "smile" {
			t.Errorf("with the %s credential the old object is %q: %v", name, text, err)
		}
	}
	kept := testenv.Get(w.Env, secret.DeepCopy())
	if diff := cmp.Diff(secret.Data, kept.Data); diff != "" || kept.UID != secret.UID {
		t.Errorf("the old Secret was replaced:\n%s", diff)
	}
	last := w.plan()
	for _, done := range []string{"1", "2", "3", "4", "5", "6"} {
		if !strings.Contains(last, "\n# "+done+". (done) ") {
			t.Errorf("step %s is not done:\n%s", done, last)
		}
	}
	w.follow("8")
	w.Gone(secret)
	if text, err := w.read(w.administrator()); err != nil || text != "smile" {
		t.Errorf("in the end the old object is %q: %v", text, err)
	}
	for _, e := range w.Audit(controlplane.AuditFilter{User: "planner"}) {
		if e.Verb != "get" && e.Verb != "list" {
			t.Errorf("the plan made a request to %s %s %s/%s", e.Verb, e.Resource, e.Namespace, e.Name)
		}
	}
}

// follow runs the commands up to and including a step one by one and prints a new plan after each.
func (w *world) follow(step string) {
	w.t.Helper()
	const most = 100
	for range most {
		do := next(w.plan(), step)
		if do == "" {
			return
		}
		w.t.Log(do)
		w.shell(do, "")
	}
	w.t.Fatalf("after %d commands the plan is not done:\n%s", most, w.plan())
}

// serve starts COSI v1alpha2 with the driver of the plan.
func (w *world) serve() {
	w.t.Helper()
	credential := w.store.Root()
	driver, err := s3driver.New(s3driver.Options{
		Config: s3driver.Config{DriverName: w.options.Driver, Backends: map[string]s3driver.BackendConfig{"main": {
			Type: s3driver.TypeAWS, Endpoint: w.store.URL(), Region: w.store.Region(),
			Credentials: s3driver.CredentialsConfig{AccessKeyID: credential.AccessKeyID, SecretAccessKey: cosi.NewSecret(credential.SecretAccessKey)},
		}}},
		Credentials: credstore.NewMemory(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	systemtest.StartOn(w.t, w.Env, system.Options{Namespaces: []string{"team-a"}, Drivers: []system.Driver{{
		Name: w.options.Driver, Serve: func(ctx context.Context, endpoint string) error {
			return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint, Logger: slog.New(slog.DiscardHandler)})
		},
	}}})
}
