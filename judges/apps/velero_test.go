// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/cloudstest"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// The modules, in the versions that docs/howto/velero.md names.
const (
	veleroModule = "github.com/vmware-tanzu/velero"
	pluginModule = "github.com/vmware-tanzu/velero-plugin-for-aws"

	veleroVersion = "v1.18.3"
	pluginVersion = "v1.14.3"
)

// sample is the name of all objects in a namespace; backups is the bucket with Velero's backups.
const sample, backups = "sample", "backups"

// TestVelero executes the commands of docs/howto/velero.md with Velero's server, its client and its plugin for AWS. The
// server may change objects of COSI only by the role on that page.
func TestVelero(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "TestRestoredBucketIsBound in lifecycle restores the objects in the same way, without Velero")
	programs := veleroPrograms(t)
	commands := pageCommands(t, "../../docs/howto/velero.md")
	if len(commands) != 3 {
		t.Fatalf("the page has %d blocks of commands, want those to back up, to delete retained Buckets and to restore", len(commands))
	}
	for name, test := range map[string]struct {
		policy  cosiapi.DeletionPolicy
		recover func(t *testing.T, v veleroCluster) veleroCluster // loses the objects
		revoked bool                                              // the old credential
	}{
		"a deleted namespace with retained Buckets": {cosiapi.DeletionPolicyRetain, func(_ *testing.T, v veleroCluster) veleroCluster {
			v.run("kubectl delete namespace team-a --timeout=5m")
			v.run(commands[1])
			return v
		}, true},
		"a lost cluster": {cosiapi.DeletionPolicyDelete, func(t *testing.T, v veleroCluster) veleroCluster {
			t.Helper()
			v.stop()
			another := newVeleroCluster(t, programs, v.store, v.keys)
			another.classes(cosiapi.DeletionPolicyDelete)
			another.run("kubectl -n velero wait --for=create backup/team-a --timeout=5m")
			return another
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := faketest.Start(t, s3fake.New, s3fake.Options{})
			v := newVeleroCluster(t, programs, store, credstore.NewMemory())
			v.classes(test.policy)
			before, other := v.deploy("team-a"), v.deploy("team-b")
			before.write(t, "precious")
			v.run(commands[0])

			v = test.recover(t, v)
			v.run(commands[2])
			after := v.found("team-a")
			if after.bucket.Name != before.bucket.Name || after.bucket.Status.BucketID != before.bucket.Status.BucketID {
				t.Errorf("the claim is bound to Bucket %s (%s), want %s (%s)", after.bucket.Name, after.bucket.Status.BucketID, before.bucket.Name, before.bucket.Status.BucketID)
			}
			if text, err := after.read(t); err != nil || text != "precious" {
				t.Errorf("read the object with the new credential: %q, %v", text, err)
			}
			if after.keyID == before.keyID {
				t.Errorf("the access still has the credential %s", before.keyID)
			}
			if _, err := before.read(t); (err != nil) != test.revoked {
				t.Errorf("read with the old credential: %v, want refused: %v", err, test.revoked)
			}
			kept := testenv.Get(v.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: other.bucket.Name}})
			if kept.Spec.BucketClaimRef.UID != other.bucket.Spec.BucketClaimRef.UID || kept.Annotations[cosiapi.BindUntilAnnotation] != "" {
				t.Errorf("the restore changed the Bucket of another namespace: %+v", kept)
			}
		})
	}
}

// veleroPrograms returns a directory with Velero, its plugin in plugins, and kubectl.
func veleroPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	paths, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(paths.Kubectl, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	published{
		module: veleroModule + "@" + veleroVersion, main: veleroModule + "/cmd/velero",
		// Not every proxy has the version v0.33.12, which Velero requires.
		edits: []string{"-require=k8s.io/cli-runtime@v0.33.13"},
		// The server also serves metrics on the port 8080, which no flag changes. Several servers must run at once.
		linkFlags: "-X sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=0 -X " + veleroModule + "/pkg/buildinfo.Version=" + veleroVersion,
	}.build(t, filepath.Join(dir, "velero"))
	published{module: pluginModule + "@" + pluginVersion, main: pluginModule + "/velero-plugin-for-aws"}.build(t, filepath.Join(dir, "plugins", "velero-plugin-for-aws"))
	return dir
}

// pageCommands returns the blocks of shell commands of a page.
func pageCommands(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := docstest.ParseBlocks(page, string(text))
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, block := range blocks {
		if block.Language == "sh" {
			commands = append(commands, block.Text)
		}
	}
	return commands
}

// A veleroCluster is a cluster with COSI, the S3 driver and Velero, whose server runs outside of the cluster.
type veleroCluster struct {
	*systemtest.System

	t           *testing.T
	store       *s3fake.Server
	keys        *credstore.Memory
	environment []string
	server      *exec.Cmd
}

func newVeleroCluster(t *testing.T, programs string, store *s3fake.Server, keys *credstore.Memory) veleroCluster {
	t.Helper()
	env := testenv.Start(t, testenv.Options{Private: true}) // because the page has fixed names
	v := veleroCluster{t: t, store: store, keys: keys}
	v.System = systemtest.StartOn(t, env, system.Options{Drivers: []system.Driver{cloudstest.S3(t, store, keys)}, Namespaces: []string{"team-a", "team-b"}})
	root := credential{t.Name(), store.URL(), store.Region(), store.Root().AccessKeyID, store.Root().SecretAccessKey, nil}
	s3 := root.client(t)
	if there, err := s3.BucketExists(t.Context(), backups); err != nil || !there {
		if err := s3.MakeBucket(t.Context(), backups, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	keyFile := filepath.Join(home, "credentials")
	if err := os.WriteFile(keyFile, fmt.Appendf(nil, "[default]\naws_access_key_id=%s\naws_secret_access_key=%s\n", root.keyID, root.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	v.environment = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig(env.Config(), "default"), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"),
		"HOME="+home, "TMPDIR="+t.TempDir(), "AWS_SHARED_CREDENTIALS_FILE="+keyFile)
	v.run(fmt.Sprintf("velero install --provider aws --plugins velero/velero-plugin-for-aws:%s --bucket %s --secret-file %q --use-volume-snapshots=false "+
		"--backup-location-config region=%s,s3ForcePathStyle=true,s3Url=%s", pluginVersion, backups, keyFile, store.Region(), store.URL()))
	v.startServer(programs, v.restrict())
	v.run("kubectl -n velero wait --for=jsonpath='{.status.phase}'=Available backupstoragelocation/default --timeout=5m")
	return v
}

// veleroRole has what Velero needs apart from the permissions for the objects that it restores.
const veleroRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: velero}
rules:
- {apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}
- {apiGroups: [velero.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [namespaces, secrets], verbs: [create, update, patch]}
`

// restrict replaces the permissions of Velero's service account, which are those of cluster-admin, and returns a
// kubeconfig file for it.
func (v *veleroCluster) restrict() string {
	v.t.Helper()
	role, err := filepath.Abs("../../docs/howto/velero-role.yaml")
	if err != nil {
		v.t.Fatal(err)
	}
	v.run(fmt.Sprintf(`kubectl delete clusterrolebinding velero
kubectl apply -f %q -f - <<'YAML'%sYAML
for role in velero cosi-restore; do
  kubectl create clusterrolebinding $role --clusterrole=$role --serviceaccount=velero:velero
done`, role, veleroRole))
	account := v.Env.User("system:serviceaccount:velero:velero")
	c := v.Env.ClientFor(account)
	v.Env.Eventually("the roles are effective", func(ctx context.Context) error {
		claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: sample}, Spec: cosiapi.BucketClaimSpec{BucketClassName: sample, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}}}
		return errors.Join(c.List(ctx, &corev1.ConfigMapList{}), c.Create(ctx, claim, client.DryRunAll))
	})
	if err := c.Create(v.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: sample}}, client.DryRunAll); !apierrors.IsForbidden(err) {
		v.t.Errorf("create a ConfigMap: want forbidden, got %v", err)
	}
	return v.Env.Kubeconfig(account, "velero")
}

// startServer starts Velero's server, as the Deployment of `velero install` would on a node.
func (v *veleroCluster) startServer(programs, kubeconfig string) {
	v.t.Helper()
	log, err := os.Create(filepath.Join(v.t.TempDir(), "server.log"))
	if err != nil {
		v.t.Fatal(err)
	}
	v.server = exec.CommandContext(v.t.Context(), filepath.Join(programs, "velero"), "server", "--plugin-dir", filepath.Join(programs, "plugins"),
		"--metrics-address", "127.0.0.1:0", "--profiler-address", "", "--backup-sync-period", "1s")
	v.server.Env, v.server.Stdout, v.server.Stderr = append(slices.Clone(v.environment), "KUBECONFIG="+kubeconfig), log, log
	v.server.Cancel, v.server.WaitDelay = v.terminate, time.Minute // it ends its plugins
	processtest.BindToTest(v.server)
	if err := v.server.Start(); err != nil {
		v.t.Fatal(err)
	}
	server, t := v.server, v.t
	t.Cleanup(func() {
		_ = server.Wait() // it was terminated
		if text, err := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("Velero's server: %v\n%s", err, text)
		}
	})
}

// run runs commands as the administrator.
func (v *veleroCluster) run(commands string) {
	v.t.Helper()
	cmd := exec.CommandContext(v.t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = v.t.TempDir(), v.environment
	out, err := cmd.CombinedOutput()
	v.t.Logf("%s\n%s", commands, out)
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *veleroCluster) terminate() error { return v.server.Process.Signal(syscall.SIGTERM) }

// stop stops all programs that would notice the loss of the cluster.
func (v *veleroCluster) stop() {
	v.t.Helper()
	if err := v.terminate(); err != nil {
		v.t.Fatal(err)
	}
	if err := v.Stop(); err != nil {
		v.t.Fatal(err)
	}
}

// classes creates the classes.
func (v *veleroCluster) classes(policy cosiapi.DeletionPolicy) {
	v.t.Helper()
	v.Create(
		&cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: sample}, Spec: cosiapi.BucketClassSpec{DriverName: s3driver.DefaultName, DeletionPolicy: policy}},
		&cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: sample}, Spec: cosiapi.BucketAccessClassSpec{DriverName: s3driver.DefaultName, AuthenticationType: cosiapi.AuthenticationTypeKey}},
	)
}

// deploy creates a namespace with the claim and the access of the tutorial.
func (v *veleroCluster) deploy(namespace string) credential {
	v.t.Helper()
	tutorial, err := filepath.Abs("../../docs/tutorial")
	if err != nil {
		v.t.Fatal(err)
	}
	v.run(fmt.Sprintf("kubectl create namespace %[1]s\nkubectl -n %[1]s apply -f %[2]q/2-claim.yaml -f %[2]q/3-access.yaml\n"+
		"kubectl -n %[1]s wait --for=condition=Ready bucketclaim,bucketaccess --all --timeout=5m", namespace, tutorial))
	return v.found(namespace)
}

// found returns the credential and the Bucket of a namespace.
func (v *veleroCluster) found(namespace string) credential {
	v.t.Helper()
	claim, secret := &cosiapi.BucketClaim{}, &corev1.Secret{}
	for object, name := range map[client.Object]string{claim: sample, secret: sample + "-credentials"} {
		if err := v.Client().Get(v.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
			v.t.Fatal(err)
		}
	}
	return credential{
		string(secret.Data["BUCKET_NAME"]), string(secret.Data["AWS_ENDPOINT_URL"]), string(secret.Data["AWS_DEFAULT_REGION"]),
		string(secret.Data["AWS_ACCESS_KEY_ID"]), string(secret.Data["AWS_SECRET_ACCESS_KEY"]),
		testenv.Get(v.Env, &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: claim.Status.BoundBucketName}}),
	}
}

// A credential is the content of an access Secret, with its Bucket.
type credential struct {
	name, endpoint, region, keyID, secret string
	bucket                                *cosiapi.Bucket
}

func (c credential) client(t *testing.T) *minio.Client {
	t.Helper()
	endpoint, err := url.Parse(c.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s3, err := minio.New(endpoint.Host, &minio.Options{Creds: credentials.NewStaticV4(c.keyID, c.secret, ""), Region: c.region})
	if err != nil {
		t.Fatal(err)
	}
	return s3
}

func (c credential) write(t *testing.T, text string) {
	t.Helper()
	if _, err := c.client(t).PutObject(t.Context(), c.name, "data", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
}

// read returns the text that write has written.
func (c credential) read(t *testing.T) (string, error) {
	t.Helper()
	object, err := c.client(t).GetObject(t.Context(), c.name, "data", minio.GetObjectOptions{})
	if err != nil {
		return "", err
	}
	defer object.Close()
	text, err := io.ReadAll(object)
	return string(text), err
}
