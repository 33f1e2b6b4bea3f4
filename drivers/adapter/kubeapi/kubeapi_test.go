// SPDX-License-Identifier: Apache-2.0

package kubeapi_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/drivers/adapter/kubeapi"
	"github.com/cooper-cosi/cooper/internal/freeport"
)

const photosID = "arn:aws:s3:::photos"

// buckets has one bucket, with a name and an ID, and an error for the name broken.
func buckets(_ context.Context, name string) (kubeapi.Bucket, bool, error) {
	if name == "broken" {
		return kubeapi.Bucket{}, false, errors.New("the store of entries does not respond")
	}
	return kubeapi.Bucket{
		Name: "photos", ID: photosID, Driver: "objectstorage.vendor.example", Protocols: []string{"S3"}, Parameters: map[string]string{"secret": "admin"},
	}, name == "photos" || name == photosID, nil
}

// An instance is a server of a test.
type instance struct {
	options kubeapi.Options
	address string
	stop    func()
}

func options(t *testing.T) kubeapi.Options {
	t.Helper()
	dir := t.TempDir()
	return kubeapi.Options{
		Dir: filepath.Join(dir, "account"), Address: "127.0.0.1:0", SecretsDir: filepath.Join(dir, "secrets"),
		Buckets: buckets, Logger: slog.New(slog.DiscardHandler),
	}
}

func start(t *testing.T, o kubeapi.Options) *instance {
	t.Helper()
	server, err := kubeapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	i := &instance{options: o, address: server.Addr()}
	stopped := false
	i.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(i.stop)
	return i
}

// config returns the configuration that client-go makes in a Pod from the files.
func (i *instance) config(t *testing.T) *rest.Config {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(i.options.Dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{
		Host: "https://" + i.address, BearerToken: string(token), BearerTokenFile: filepath.Join(i.options.Dir, "token"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(i.options.Dir, "ca.crt")},
	}
}

// clients are the clients of a driver.
type clients struct {
	core kubernetes.Interface
	all  dynamic.Interface
}

func clientsFor(t *testing.T, config *rest.Config) clients {
	t.Helper()
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients{core: core, all: all}
}

func (c clients) buckets() dynamic.ResourceInterface {
	return c.all.Resource(schema.GroupVersionResource{Group: "objectstorage.k8s.io", Version: "v1alpha1", Resource: "buckets"})
}

func (c clients) secret(t *testing.T, namespace, name string) map[string]string {
	t.Helper()
	secret, err := c.core.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for key, value := range secret.Data {
		values[key] = string(value)
	}
	return values
}

// store writes files, by their paths.
func store(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, content := range files {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	client := clientsFor(t, start(t, options(t)).config(t))
	for _, name := range []string{"photos", photosID} {
		bucket, err := client.buckets().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"apiVersion": "objectstorage.k8s.io/v1alpha1", "kind": "Bucket", "metadata": map[string]any{"name": "photos"},
			"spec": map[string]any{
				"driverName": "objectstorage.vendor.example", "bucketClassName": "", "bucketClaim": nil, "deletionPolicy": "Retain",
				"protocols": []any{"S3"}, "parameters": map[string]any{"secret": "admin"},
			},
			"status": map[string]any{"bucketReady": true, "bucketID": photosID},
		}
		if diff := cmp.Diff(want, bucket.Object); diff != "" {
			t.Errorf("bucket %s:\n%s", name, diff)
		}
	}
}

// TestSecret stores the files as an administrator, a Secret volume and a projected volume do.
func TestSecret(t *testing.T) {
	t.Parallel()
	o := options(t)
	store(t, o.SecretsDir, map[string]string{
		"vendor/plain/accessKey":          "a",
		"vendor/plain/directory/ignored":  "x",
		"vendor/mounted/..first/secret":   "old",
		"vendor/mounted/..second/secret":  "new",
		"vendor/mounted/..second/another": "b",
		"..first/projected/admin/secret":  "c",
	})
	mounted := filepath.Join(o.SecretsDir, "vendor", "mounted")
	link(t, "..first", filepath.Join(mounted, "..data"))
	link(t, "..data/secret", filepath.Join(mounted, "secret"))
	link(t, "..first", filepath.Join(o.SecretsDir, "..data"))
	link(t, "..data/projected", filepath.Join(o.SecretsDir, "projected"))
	client := clientsFor(t, start(t, o).config(t))
	expect := func(namespace, name string, want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, client.secret(t, namespace, name)); diff != "" {
			t.Errorf("Secret %s/%s:\n%s", namespace, name, diff)
		}
	}
	expect("vendor", "plain", map[string]string{"accessKey": "a"})
	expect("projected", "admin", map[string]string{"secret": "c"})
	expect("vendor", "mounted", map[string]string{"secret": "old"})
	link(t, "..second", filepath.Join(mounted, "..next"))
	if err := os.Rename(filepath.Join(mounted, "..next"), filepath.Join(mounted, "..data")); err != nil {
		t.Fatal(err)
	}
	expect("vendor", "mounted", map[string]string{"secret": "new", "another": "b"})
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	o := options(t)
	store(t, o.SecretsDir, map[string]string{"vendor/admin/key": "a", "../outside/admin/key": "b", "../outside/key": "b"})
	link(t, "../../outside", filepath.Join(o.SecretsDir, "vendor", "linked"))
	server := start(t, o)
	client := clientsFor(t, server.config(t))
	wrong := server.config(t)
	wrong.BearerToken, wrong.BearerTokenFile = "wrong", ""
	none := server.config(t)
	none.BearerToken, none.BearerTokenFile = "", ""
	getBucket := func(c clients, name string) func() error {
		return func() error { return second(c.buckets().Get(t.Context(), name, metav1.GetOptions{})) }
	}
	getSecret := func(namespace, name string) func() error {
		return func() error {
			return second(client.core.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{}))
		}
	}
	bucket := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "objectstorage.k8s.io/v1alpha1", "kind": "Bucket", "metadata": map[string]any{"name": "photos"}}}
	for name, tc := range map[string]struct {
		do   func() error
		is   func(error) bool
		want string
	}{
		"a wrong token":                   {getBucket(clientsFor(t, wrong), "photos"), apierrors.IsUnauthorized, ""},
		"no token":                        {getBucket(clientsFor(t, none), "photos"), apierrors.IsUnauthorized, ""},
		"a bucket that does not exist":    {getBucket(client, "films"), apierrors.IsNotFound, `buckets.objectstorage.k8s.io "films" not found`},
		"an unavailable store of entries": {getBucket(client, "broken"), apierrors.IsInternalError, "the store of entries does not respond"},
		"a Secret that does not exist":    {getSecret("vendor", "other"), apierrors.IsNotFound, `secrets "other" not found`},
		"a Secret of another namespace":   {getSecret("default", "admin"), apierrors.IsNotFound, ""},
		"a Secret outside the directory":  {getSecret("vendor", "linked"), apierrors.IsInternalError, "escapes"},
		"a list of buckets": {
			func() error { return second(client.buckets().List(t.Context(), metav1.ListOptions{})) }, apierrors.IsForbidden, "buckets cannot be listed or watched",
		},
		"a watch of buckets": {
			func() error { return second(client.buckets().Watch(t.Context(), metav1.ListOptions{})) }, apierrors.IsForbidden, "",
		},
		"a list of a namespace's Secrets": {
			func() error {
				return second(client.core.CoreV1().Secrets("vendor").List(t.Context(), metav1.ListOptions{}))
			}, apierrors.IsForbidden, "secrets cannot be listed or watched",
		},
		"a list of all Secrets": {
			func() error { return second(client.core.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})) }, apierrors.IsForbidden, "",
		},
		"a creation": {
			func() error { return second(client.buckets().Create(t.Context(), bucket, metav1.CreateOptions{})) }, apierrors.IsMethodNotSupported, "POST is not allowed: this API is read-only",
		},
		"an update of the status": {
			func() error {
				return second(client.buckets().UpdateStatus(t.Context(), bucket, metav1.UpdateOptions{}))
			}, apierrors.IsMethodNotSupported, "",
		},
		"a patch of a Secret": {
			func() error {
				return second(client.core.CoreV1().Secrets("vendor").Patch(t.Context(), "admin", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{}))
			}, apierrors.IsMethodNotSupported, "",
		},
		"a deletion": {
			func() error { return client.buckets().Delete(t.Context(), "photos", metav1.DeleteOptions{}) }, apierrors.IsMethodNotSupported, "",
		},
		"another resource": {
			func() error {
				return second(client.core.CoreV1().Pods("vendor").Get(t.Context(), "a", metav1.GetOptions{}))
			}, apierrors.IsNotFound, "serves only Buckets",
		},
		"the discovery": {
			func() error { return second(client.core.Discovery().ServerVersion()) }, apierrors.IsNotFound, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.do()
			if !tc.is(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want a Status with %q, got %v", tc.want, err)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// TestRestart restarts the server at the same address. A driver that runs in the meantime must be able to continue.
func TestRestart(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Address = freeport.ForTest(t).Address()
	first := start(t, o)
	client := clientsFor(t, first.config(t))
	before := files(t, o.Dir)
	for name, mode := range map[string]os.FileMode{"ca.crt": 0o644, "namespace": 0o644, "token": 0o640, "server.pem": 0o600} {
		if info, err := os.Stat(filepath.Join(o.Dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: want mode %v, got %v, %v", name, mode, info, err)
		}
	}
	first.stop()
	again := start(t, o)
	if diff := cmp.Diff(before, files(t, o.Dir)); diff != "" {
		t.Errorf("the files changed:\n%s", diff)
	}
	if _, err := client.buckets().Get(t.Context(), "photos", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	again.stop()

	store(t, o.Dir, map[string]string{"server.pem": "damaged"})
	third := start(t, o)
	if after := files(t, o.Dir); after["ca.crt"] == before["ca.crt"] || after["token"] != before["token"] {
		t.Error("want a new CA and the same token after the private key was damaged")
	}
	config := third.config(t)
	config.CAFile, config.CAData = "", []byte(files(t, o.Dir)["ca.crt"]) // client-go caches files
	if _, err := clientsFor(t, config).buckets().Get(t.Context(), "photos", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(bytes.TrimSpace(content))
	}
	return all
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for address, valid := range map[string]bool{
		"127.0.0.1:6443": true, "[::1]:6443": true, "127.0.0.2:0": true,
		"0.0.0.0:6443": false, ":6443": false, "10.0.0.1:6443": false, "example.com:6443": false, "127.0.0.1": false, "": false,
	} {
		if _, err := kubeapi.New(kubeapi.Options{Dir: t.TempDir(), Address: address, Buckets: buckets}); (err == nil) != valid {
			t.Errorf("address %q: want valid %v, got %v", address, valid, err)
		}
	}
}
