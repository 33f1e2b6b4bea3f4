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

// fakeOf is a Pod with a fake, whose data is in a volume that outlives the container.
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

// driverConfig is the configuration for an S3 store behind a Service.
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

// image returns the name of one of Cooper's images on the cluster.
func image(name string) string {
	return repository() + "/" + name + ":" + current().tag
}

func repository() string { return cmp.Or(os.Getenv("COOPER_REPOSITORY"), "cooper") }

// install installs Cooper, the S3 driver and a store for it with kubectl, as in docs/howto/deploy.md. It
// keeps existing installations.
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

// deploy applies the manifests of all components.
func (w *world) deploy(t *testing.T, manifests string) {
	t.Helper()
	w.kubectl(t, "apply", "--server-side", "-k", manifests)
	w.kubectl(t, "apply", "--server-side", "-k", filepath.Join(manifests, "drivers", "s3"))
}

// A version of Cooper has its sources, the tag of its images, and its driver's configuration.
type version struct{ name, sources, tag, config string }

// current returns the version under test.
func current() version {
	return version{name: "current", sources: root, tag: cmp.Or(os.Getenv("COOPER_TAG"), "dev"), config: driverConfig}
}

// An installation has a version for each component. CRDs, roles and policies belong to the controller.
type installation struct{ controller, sidecar, driver version }

func all(v version) installation { return installation{v, v, v} }

// pod returns the version of the manifest that sidecar and driver share. If their versions differ, it is the
// older one.
func (i installation) pod() version {
	if i.sidecar == current() {
		return i.driver
	}
	return i.sidecar
}

// parts returns the installed images.
func parts() []string { return []string{"cosi-controller", "cosi-sidecar", "cosi-driver-s3"} }

// manifests returns a copy of deploy/ with the administrator's changes: the image names and the driver's
// configuration.
func (w *world) manifests(t *testing.T) string {
	t.Helper()
	return w.manifestsOf(t, all(current()))
}

// manifestsOf is manifests for an installation of any versions.
func (w *world) manifestsOf(t *testing.T, i installation) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy")
	drivers := filepath.Join(dir, "drivers")
	err := errors.Join(os.CopyFS(dir, os.DirFS(filepath.Join(i.controller.sources, "deploy"))), os.RemoveAll(drivers),
		os.CopyFS(drivers, os.DirFS(filepath.Join(i.pod().sources, "deploy", "drivers"))),
		os.WriteFile(filepath.Join(drivers, "s3", "config.yaml"), []byte(i.driver.config), 0o600))
	wantNoError(t, err)
	var names []string
	for at, v := range []version{i.controller, i.sidecar, i.driver} {
		const named = "newName: %s/%s\n    newTag: %s\n"
		names = append(names, fmt.Sprintf(named, "cooper", parts()[at], "dev"), fmt.Sprintf(named, repository(), parts()[at], v.tag))
	}
	for _, file := range []string{filepath.Join(dir, "kustomization.yaml"), filepath.Join(drivers, "s3", "kustomization.yaml")} {
		content, err := os.ReadFile(file)
		wantNoError(t, err)
		wantNoError(t, os.WriteFile(file, []byte(strings.NewReplacer(names...).Replace(string(content))), 0o600))
	}
	return dir
}
