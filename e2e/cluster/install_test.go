// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	systemNamespace = "cosi-system"
	driverNamespace = "cosi-driver-s3"
	storeNamespace  = "stores"
)

// rootID and rootKey are the credential of the store's administrator.
const (
	rootID  = "AKIACOOPERCLUSTER000"
	rootKey = "only-for-tests-on-this-cluster"
)

const storesNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: stores}
`

// fakeOf is a fake in a Pod, with what it has in a volume that outlives its container.
const fakeOf = `
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: stores}
spec: {selector: {app: NAME}, ports: [{port: PORT}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: stores}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      containers:
        - name: NAME
          image: IMAGE
          args: [fakes, NAME, "--listen=0.0.0.0:PORT", ARGS]
          env:
            - {name: COOPER_ROOT_ACCESS_KEY_ID, value: ROOT_ID}
            - {name: COOPER_ROOT_SECRET_ACCESS_KEY, value: ROOT_KEY}
            - {name: COOPER_ADMIN, value: "true"}
            # It fetches the keys of the tokens of service accounts from the API server.
            - {name: SSL_CERT_FILE, value: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt}
          readinessProbe: {httpGet: {path: /_cooper/health, port: PORT, scheme: SCHEME}, periodSeconds: 1}
          volumeMounts: [{name: data, mountPath: /data}]
      securityContext: {fsGroup: 65532}
      volumes: [{name: data, emptyDir: {}}]
`

// fake returns the manifest of one of the fakes.
func fake(name, port, scheme string, args ...string) string {
	return strings.NewReplacer("NAME", name, "PORT", port, "SCHEME", scheme, "ARGS", strings.Join(args, ", "),
		"IMAGE", image("cooper"), "ROOT_ID", rootID, "ROOT_KEY", rootKey).Replace(fakeOf)
}

// driverConfig is that of an S3 store which is reached through a Service.
const driverConfig = `
driverName: s3.cooper.dev
defaultBackend: main
backends:
  main:
    type: aws
    region: us-east-1
    endpoint: http://s3.stores.svc.cluster.local:9000
    insecure: true
    credentials:
      accessKeyIDFile: /etc/cosi/credentials/accessKeyID
      secretAccessKeyFile: /etc/cosi/credentials/secretAccessKey
`

// image returns the name of an image of ours on the cluster.
func image(name string) string {
	return repository() + "/" + name + ":" + current().tag
}

func repository() string { return cmp.Or(os.Getenv("COOPER_REPOSITORY"), "cooper") }

// install makes the cluster have Cooper, the S3 driver and a store for it, by kubectl as docs/howto/deploy.md says. What
// is there already stays.
func (w *world) install(t *testing.T) {
	t.Helper()
	w.installed.Do(func() {
		w.apply(t, "", storesNamespace+fake("s3", "9000", "HTTP", "--data=/data/s3"))
		w.rolledOut(t, storeNamespace)
		w.deploy(t, w.manifests(t))
		w.apply(t, driverNamespace, "apiVersion: v1\nkind: Secret\nmetadata: {name: cosi-driver-s3-credentials}\n"+
			"stringData: {accessKeyID: "+rootID+", secretAccessKey: "+rootKey+"}")
	})
	w.rolledOut(t, systemNamespace)
	w.rolledOut(t, driverNamespace)
}

// deploy applies the manifests of everything.
func (w *world) deploy(t *testing.T, manifests string) {
	t.Helper()
	w.kubectl(t, "apply", "--server-side", "-k", manifests)
	w.kubectl(t, "apply", "--server-side", "-k", filepath.Join(manifests, "drivers", "s3"))
}

// A version of Cooper is where its sources are, the tag of its images, and how its driver reaches the store.
type version struct{ name, sources, tag, config string }

// current is the version that is tested.
func current() version {
	return version{name: "current", sources: root, tag: cmp.Or(os.Getenv("COOPER_TAG"), "dev"), config: driverConfig}
}

// An installation says of which version each part is. With the controller come CRDs, roles and policies.
type installation struct{ controller, sidecar, driver version }

func all(v version) installation { return installation{v, v, v} }

// pod returns the version of the manifest that sidecar and driver share. Where they differ, it is the older one's.
func (i installation) pod() version {
	if i.sidecar == current() {
		return i.driver
	}
	return i.sidecar
}

// parts are the images that are installed.
func parts() []string { return []string{"cosi-controller", "cosi-sidecar", "cosi-driver-s3"} }

// manifests returns a copy of deploy/ with what an administrator writes into it: the names of the images, and how the
// driver reaches its store.
func (w *world) manifests(t *testing.T) string {
	t.Helper()
	return w.manifestsOf(t, all(current()))
}

// manifestsOf is manifests for an installation that need not be of this version.
func (w *world) manifestsOf(t *testing.T, i installation) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy")
	drivers := filepath.Join(dir, "drivers")
	err := errors.Join(os.CopyFS(dir, os.DirFS(filepath.Join(i.controller.sources, "deploy"))), os.RemoveAll(drivers),
		os.CopyFS(drivers, os.DirFS(filepath.Join(i.pod().sources, "deploy", "drivers"))),
		os.WriteFile(filepath.Join(drivers, "s3", "config.yaml"), []byte(i.driver.config), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for at, v := range []version{i.controller, i.sidecar, i.driver} {
		const named = "newName: %s/%s\n    newTag: %s\n"
		names = append(names, fmt.Sprintf(named, "cooper", parts()[at], "dev"), fmt.Sprintf(named, repository(), parts()[at], v.tag))
	}
	for _, file := range []string{filepath.Join(dir, "kustomization.yaml"), filepath.Join(drivers, "s3", "kustomization.yaml")} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.NewReplacer(names...).Replace(string(content))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
