// SPDX-License-Identifier: Apache-2.0

package sample_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/sample"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const class = `apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClass
metadata: {name: sample-test}
spec: {driverName: a.example.com, deletionPolicy: Delete}
`

func files(content map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range content {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func TestRead(t *testing.T) {
	t.Parallel()
	documents, err := sample.Read(files(map[string]string{
		"b.yaml":   "# only a comment\n---\n" + class,
		"a.yaml":   class + "---\n" + strings.ReplaceAll(class, "sample-test", "second"),
		"c.txt":    "not a manifest",
		"d/e.yaml": "not: in the root",
	}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range documents {
		got = append(got, d.Source+": "+d.Object.GetName())
	}
	want := []string{"a.yaml, document 1: sample-test", "a.yaml, document 2: second", "b.yaml, document 2: sample-test"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("documents (-want, +got):\n%s", diff)
	}
}

func TestReadOfBadInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no manifest at all":          {nil, "no .yaml files found"},
		"text that is not YAML":       {map[string]string{"a.yaml": class + "---\nkind: [\n"}, "a.yaml, document 2 is not valid YAML"},
		"a key given twice":           {map[string]string{"a.yaml": "kind: A\nkind: B\n"}, "a.yaml, document 1 is not valid YAML"},
		"YAML that is no object":      {map[string]string{"a.yaml": "spec: {}\n"}, "a.yaml, document 1 is not a Kubernetes object: apiVersion, kind and metadata.name are required"},
		"YAML that is not even a map": {map[string]string{"a.yaml": "hello\n"}, "a.yaml, document 1 is not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := sample.Read(files(tc.files))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error: want %q, got %v", tc.want, err)
			}
		})
	}
}

func TestApplyNamesTheDocumentThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	for name, tc := range map[string]struct{ manifest, want string }{
		"a field with a bad value": {
			strings.ReplaceAll(class, "Delete", "Shred"), `a.yaml, document 1: apply BucketClass sample-test: `,
		},
		"a kind that the API server does not serve": {
			strings.ReplaceAll(class, "BucketClass", "BucketGlass"), `a.yaml, document 1: find the resource of BucketGlass sample-test: no matches for kind "BucketGlass"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents, err := sample.Read(files(map[string]string{"a.yaml": tc.manifest}))
			if err != nil {
				t.Fatal(err)
			}
			err = sample.Apply(t.Context(), env.Client, "default", documents)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error: want %q, got %v", tc.want, err)
			}
		})
	}
}

// busyAtFirst is a transport that fails the first request to each URL, as an overloaded API server does.
type busyAtFirst struct {
	http.RoundTripper
	says  error
	asked sync.Map
}

func (s *busyAtFirst) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, again := s.asked.LoadOrStore(r.Method+r.URL.Path, true); !again {
		return nil, s.says
	}
	return s.RoundTripper.RoundTrip(r)
}

func TestABusyAPIServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	for name, says := range map[string]error{
		"it is slow":               os.ErrDeadlineExceeded,
		"it breaks the connection": io.ErrUnexpectedEOF,
		"it resets the connection": syscall.ECONNRESET,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			documents, err := sample.Read(files(map[string]string{"a.yaml": class + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}))
			if err != nil {
				t.Fatal(err)
			}
			config := rest.CopyConfig(env.Config())
			config.Wrap(func(to http.RoundTripper) http.RoundTripper { return &busyAtFirst{RoundTripper: to, says: says} })
			namespace := strings.ReplaceAll(name, " ", "-")
			if err := sample.Apply(t.Context(), env.ClientFor(config), namespace, documents); err != nil {
				t.Fatal(err)
			}
			if err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &corev1.ConfigMap{}); err != nil {
				t.Errorf("what was applied: %v", err)
			}
		})
	}
}

func TestWaitSaysWhatItWaitsForAndWhyItEnds(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	manifest := "apiVersion: objectstorage.k8s.io/v1alpha2\nkind: BucketClaim\nmetadata: {name: nobodys}\n" +
		"spec: {bucketClassName: none, protocols: [S3]}\n"
	documents, err := sample.Read(files(map[string]string{"a.yaml": manifest}))
	if err != nil {
		t.Fatal(err)
	}
	if err := sample.Apply(t.Context(), env.Client, "default", documents); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	err = sample.Wait(ctx, env.Client, documents, func(string) { cancel(errors.New("gave up")) })
	want := "BucketClaim default/nobodys is still not provisioned: Waiting for COSI. (gave up)"
	if err == nil || err.Error() != want {
		t.Errorf("error: want %q, got %v", want, err)
	}
}
