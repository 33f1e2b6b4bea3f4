// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// tutorial is the directory of the tutorial's manifests.
const tutorial = "docs/tutorial/"

// several requests a second bucket, and one credential for both.
const several = `
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccessClass
metadata: {name: several}
spec: {driverName: s3.cooper.dev, authenticationType: Key, multiBucketAccess: MultipleBuckets}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: archive}
spec: {bucketClassName: sample, protocols: [S3]}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccess
metadata: {name: archiver}
spec:
  bucketAccessClassName: several
  protocol: S3
  bucketClaims:
    - {bucketClaimName: sample, accessSecretName: archiver-sample, accessModes: {objectData: ReadWrite}}
    - {bucketClaimName: archive, accessSecretName: archiver-archive, accessModes: {objectData: ReadWrite}}
`

// TestTheTutorialInPods follows the tutorial and uses its Secrets in Pods.
func TestTheTutorialInPods(t *testing.T) { //nolint:paralleltest // all tests share the cluster
	fulltest.Only(t, "TestSmoke does a part of it")
	w := onCluster(t)
	w.install(t)
	w.takeBack(t, "tutorial", several)
	ns := w.claimed(t, "tutorial")
	w.apply(t, ns, several)
	w.wait(t, ns, "condition=Provisioned", "bucketaccess/archiver")

	w.pod(t, ns, pod{name: "environment", environment: "sample-credentials"})
	w.pod(t, ns, pod{name: "files", mounts: []string{"sample-credentials"}})
	w.pod(t, ns, pod{name: "both", mounts: []string{"archiver-sample", "archiver-archive"}})
	for name, buckets := range map[string]int{"environment": 1, "files": 1, "both": 2} {
		w.wait(t, ns, "jsonpath={.status.phase}=Succeeded", "pod/"+name)
		if got := w.logs(t, ns, name); strings.Count(got, "stored and read in") != buckets {
			t.Errorf("the Pod %s prints %q, want that it stored in %d", name, got, buckets)
		}
	}
}

// TestSmoke claims a bucket, kills Cooper's Pods, and claims another bucket.
func TestSmoke(t *testing.T) { //nolint:paralleltest // all tests share the cluster
	fulltest.Only(t, "TestDeploy in testenv/system installs the same, without a node")
	w := onCluster(t)
	w.install(t)
	before := w.claimed(t, "smoke")
	w.works(t, before, "before")
	for namespace, budget := range map[string]string{systemNamespace: "cosi-controller", driverNamespace: "cosi-driver-s3"} {
		w.wait(t, namespace, "jsonpath={.status.currentHealthy}=2", "poddisruptionbudget/"+budget)
	}
	w.killPods(t, driverNamespace)
	w.works(t, before, "after")
	w.works(t, w.claimed(t, "smoke-later"), "before")
}

// claimed creates a namespace with the claim and the access of the tutorial, and waits until they are
// provisioned. They are deleted before the namespace.
func (w *world) claimed(t *testing.T, name string) string {
	t.Helper()
	classes, err := os.ReadFile(filepath.Join(root, tutorial, "1-classes.yaml"))
	wantNoError(t, err)
	w.takeBack(t, "", string(classes))
	ns := w.namespace(t, name)
	w.apply(t, "", string(classes))
	w.kubectl(t, "-n", ns, "apply", "-f", tutorial+"2-claim.yaml", "-f", tutorial+"3-access.yaml")
	w.wait(t, ns, "condition=Provisioned", "bucketclaim/sample", "bucketaccess/sample")
	return ns
}

// works runs a Pod that uses the bucket of the tutorial.
func (w *world) works(t *testing.T, namespace, name string) {
	t.Helper()
	w.pod(t, namespace, pod{name: name, environment: "sample-credentials"})
	w.wait(t, namespace, "jsonpath={.status.phase}=Succeeded", "pod/"+name)
}

// A pod is a workload that uses the buckets of Secrets once and exits.
type pod struct {
	name string
	// environment is the Secret for its environment; mounts are Secrets that are mounted.
	environment string
	mounts      []string
	// stay keeps it running; again makes it use the buckets repeatedly.
	stay, again bool
}

// pod creates a Pod that meets the restricted Pod Security Standard.
func (w *world) pod(t *testing.T, namespace string, p pod) {
	t.Helper()
	var args, env, volumes, mounts []string
	if p.environment != "" {
		args = append(args, "env")
		env = append(env, fmt.Sprintf("{secretRef: {name: %s}}", p.environment))
	}
	for _, secret := range p.mounts {
		args = append(args, "/secrets/"+secret)
		volumes = append(volumes, fmt.Sprintf("{name: %s, secret: {secretName: %[1]s}}", secret))
		mounts = append(mounts, fmt.Sprintf("{name: %s, mountPath: /secrets/%[1]s}", secret))
	}
	switch {
	case p.stay:
		args = append(args, "stay")
	case p.again:
		args = append(args, "again")
	}
	list := func(items []string) string { return "[" + strings.Join(items, ", ") + "]" }
	w.apply(t, namespace, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: client
      image: %s
      args: %s
      envFrom: %s
      volumeMounts: %s
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  volumes: %s
`, p.name, image("e2e-client"), list(args), list(env), list(mounts), list(volumes)))
}
