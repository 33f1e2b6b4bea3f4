// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"cmp"
	"io/fs"
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

// store is the fake of S3 in a Pod, with its objects in a volume that outlives its container.
const store = `
apiVersion: v1
kind: Namespace
metadata: {name: stores}
---
apiVersion: v1
kind: Service
metadata: {name: s3, namespace: stores}
spec:
  selector: {app: s3}
  ports: [{port: 9000}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: s3, namespace: stores}
spec:
  selector: {matchLabels: {app: s3}}
  template:
    metadata: {labels: {app: s3}}
    spec:
      containers:
        - name: s3
          image: IMAGE
          args: [fakes, s3, "--listen=0.0.0.0:9000", --data=/data/s3]
          env:
            - {name: COOPER_ROOT_ACCESS_KEY_ID, value: ROOT_ID}
            - {name: COOPER_ROOT_SECRET_ACCESS_KEY, value: ROOT_KEY}
          readinessProbe: {httpGet: {path: /_cooper/health, port: 9000}, periodSeconds: 1}
          volumeMounts: [{name: data, mountPath: /data}]
      securityContext: {fsGroup: 65532}
      volumes: [{name: data, emptyDir: {}}]
`

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
	return repository() + "/" + name + ":" + cmp.Or(os.Getenv("COOPER_TAG"), "dev")
}

func repository() string { return cmp.Or(os.Getenv("COOPER_REPOSITORY"), "cooper") }

// install makes the cluster have Cooper, the S3 driver and a store for it, by kubectl as docs/howto/deploy.md says. What
// is there already stays.
func (w *world) install(t *testing.T) {
	t.Helper()
	w.installed.Do(func() {
		stored := strings.NewReplacer("IMAGE", image("cooper"), "ROOT_ID", rootID, "ROOT_KEY", rootKey).Replace(store)
		w.apply(t, "", stored)
		w.rolledOut(t, storeNamespace)
		manifests := w.manifests(t)
		w.kubectl(t, "apply", "--server-side", "-k", manifests)
		w.kubectl(t, "apply", "--server-side", "-k", filepath.Join(manifests, "drivers", "s3"))
		w.apply(t, driverNamespace, `{apiVersion: v1, kind: Secret, metadata: {name: cosi-driver-s3-credentials}, `+
			`stringData: {accessKeyID: `+rootID+`, secretAccessKey: `+rootKey+`}}`)
	})
	w.rolledOut(t, systemNamespace)
	w.rolledOut(t, driverNamespace)
}

// manifests returns a copy of deploy/ with what an administrator writes into it: the names of the images, and how the
// driver reaches its store.
func (w *world) manifests(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deploy")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "deploy"))); err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("newName: cooper/", "newName: "+repository()+"/", "newTag: dev", "newTag: "+cmp.Or(os.Getenv("COOPER_TAG"), "dev"))
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "kustomization.yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(names.Replace(string(content))), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "drivers", "s3", "config.yaml"), []byte(driverConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
