// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// client returns an administrator's client of the API server.
func (w *world) client(t *testing.T) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", w.kubeconfig)
	wantNoError(t, err)
	config.QPS = -1 // the API server limits requests itself
	scheme, err := reconciler.NewScheme()
	wantNoError(t, err)
	made, err := client.New(config, client.Options{Scheme: scheme})
	wantNoError(t, err)
	return made
}

// forward forwards a local port to a port of a Service or Deployment until the test ends, and returns the
// local address.
func (w *world) forward(t *testing.T, namespace, what, port string) string {
	t.Helper()
	address, stop := w.forwarded(t, namespace, what, port)
	t.Cleanup(stop)
	return address
}

// forwarded is forward until stop is called. A kubelet that has just started may reject it at first.
func (w *world) forwarded(t *testing.T, namespace, what, port string) (address string, stop func()) {
	t.Helper()
	w.until(t, func(context.Context) (err error) {
		address, stop, err = w.tryForward(context.WithoutCancel(t.Context()), namespace, what, port)
		return err
	})
	return address, stop
}

func (w *world) tryForward(ctx context.Context, namespace, what, port string) (address string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, w.program, "-n", namespace, "port-forward", what, ":"+port)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, fmt.Errorf("kubectl port-forward: %w", err)
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // killed, so always an error
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, _, ok := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " -> ")
	if err != nil || !ok {
		stop()
		return "", nil, fmt.Errorf("kubectl port-forward says %q, %q, %v", line, said.String(), err) //nolint:errorlint // one of several errors
	}
	return address, stop, nil
}

// ask sends a request and returns the status and body of the response.
func ask(ctx context.Context, with *http.Client, method, url, body, authorization string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := with.Do(request)
	if err != nil {
		return 0, "", err
	}
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), errors.Join(err, response.Body.Close())
}

// basic returns the authorization header for a key.
func basic(id, key string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+key))
}

// store sends a request to the store's administration API and returns the response.
func (w *world) store(t *testing.T, method, what, body string) string {
	t.Helper()
	address, stop := w.forwarded(t, storeNamespace, "service/s3", "9000")
	defer stop()
	status, text, err := ask(t.Context(), http.DefaultClient, method, "http://"+address+"/_cooper/"+what, body, basic(rootID, rootKey))
	if err != nil || status/100 != 2 {
		t.Fatalf("%s %s: %d %s %v", method, what, status, text, err)
	}
	return text
}

// inventory returns the store's inventory.
func (w *world) inventory(t *testing.T) s3fake.Inventory {
	t.Helper()
	var found s3fake.Inventory
	wantNoError(t, json.Unmarshal([]byte(w.store(t, http.MethodGet, "inventory", "")), &found))
	return found
}

// begin changes the Deployment of a namespace and returns its previous state. It does not wait.
func (w *world) begin(t *testing.T, namespace string, change func(*appsv1.Deployment)) *appsv1.Deployment {
	t.Helper()
	c := w.client(t)
	var former *appsv1.Deployment
	w.until(t, func(ctx context.Context) error {
		var list appsv1.DeploymentList
		if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("%d Deployments in %s", len(list.Items), namespace)
		}
		former = list.Items[0].DeepCopy()
		change(&list.Items[0])
		return c.Update(ctx, &list.Items[0])
	})
	return former
}

// change is begin that waits for the rollout.
func (w *world) change(t *testing.T, namespace string, change func(*appsv1.Deployment)) *appsv1.Deployment {
	t.Helper()
	former := w.begin(t, namespace, change)
	w.rolledOut(t, namespace)
	return former
}

// container returns a container of a Deployment.
func container(t *testing.T, d *appsv1.Deployment, name string) *corev1.Container {
	t.Helper()
	for _, containers := range [][]corev1.Container{d.Spec.Template.Spec.Containers, d.Spec.Template.Spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i]
			}
		}
	}
	t.Fatalf("the Deployment %s has no container %s", d.Name, name)
	return nil
}

func quantity(text string) *resource.Quantity { return new(resource.MustParse(text)) }

// A driver is a driver in deploy/drivers.
type driver struct {
	// cloud is its directory. word replaces the cloud in all names, such as WORD.cooper.dev.
	cloud, word string
	config      string
	secret      map[string]string
}

// driver installs a driver as in docs/howto/deploy.md. It is uninstalled at the end of the test.
func (w *world) driver(t *testing.T, d driver) {
	t.Helper()
	dir := filepath.Join(w.manifests(t), "drivers", d.cloud)
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	wantNoError(t, err)
	named, ours := "cosi-driver-"+d.word, "newName: "+repository()+"/cosi"
	names := strings.NewReplacer(
		ours, ours, // the image names that manifests has set
		"newName: cooper/cosi", ours, "newTag: dev", "newTag: "+current().tag,
		"cosi-driver-"+d.cloud, named, d.cloud+".cooper.dev", d.word+".cooper.dev")
	for _, file := range files {
		content, err := os.ReadFile(file)
		wantNoError(t, err)
		wantNoError(t, os.WriteFile(file, []byte(names.Replace(string(content))), 0o600))
	}
	wantNoError(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(d.config), 0o600))
	t.Cleanup(func() {
		if t.Failed() {
			w.report(t) // before it is deleted
		}
		if _, err := w.try(context.WithoutCancel(t.Context()), "", "delete", "-k", dir, "--ignore-not-found"); err != nil {
			t.Error(err)
		}
	})
	w.kubectl(t, "apply", "--server-side", "-k", dir)
	secret, err := json.Marshal(corev1.Secret{StringData: d.secret})
	wantNoError(t, err)
	w.apply(t, named, strings.Replace(string(secret), `"metadata":{`, `"apiVersion":"v1","kind":"Secret","metadata":{"name":"`+named+`-credentials"`, 1))
	w.rolledOut(t, named)
}
