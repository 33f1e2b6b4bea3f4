// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// ackModule is the controller for S3 of AWS Controllers for Kubernetes (ACK).
const ackModule, ackVersion = "github.com/aws-controllers-k8s/s3-controller", "v1.9.0"

// TestACK creates, changes and deletes a bucket with ACK.
func TestACK(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "TestTerraformReadsABucket in fakes/s3fake sends the same reads of a bucket")
	source, program := ackProgram(t)
	store := faketest.Start(t, s3fake.New, s3fake.Options{})
	env := testenv.Start(t, testenv.Options{})
	a := ackCluster{t: t, env: env, store: store, kubeconfig: env.Kubeconfig(env.Config(), env.Namespace())}
	a.kubectl("apply", "-f", filepath.Join(source, "helm", "crds"))
	a.kubectl("wait", "--for=condition=Established", "crd/buckets.s3.services.k8s.aws", "--timeout=1m")
	a.start(program)

	a.create()
	for _, step := range []struct{ spec, operation string }{
		{`{"versioning": {"status": "Enabled"}}`, "PutBucketVersioning"},
		{`{"tagging": {"tagSet": [{"key": "team", "value": "a"}]}}`, "PutBucketTagging"},
		{`{"tagging": {"tagSet": [{"key": "team", "value": "b"}]}}`, "PutBucketTagging"},
		{`{"tagging": null}`, "PutBucketTagging"}, // ACK keeps its own tags
		{`{"lifecycle": {"rules": [{"id": "old", "status": "Enabled", "filter": {"prefix": "logs/"}, "expiration": {"days": 30}}]}}`, "PutBucketLifecycleConfiguration"},
		{`{"lifecycle": null}`, "DeleteBucketLifecycle"},
		{`{"cors": {"corsRules": [{"allowedMethods": ["GET"], "allowedOrigins": ["*"]}]}}`, "PutBucketCors"},
		{`{"cors": null}`, "DeleteBucketCors"},
		{`{"encryption": {"rules": [{"bucketKeyEnabled": true, "applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}]}}`, "PutBucketEncryption"},
		{`{"encryption": null}`, ackRepeats},
		{`{"policy": "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Deny\",\"Principal\":\"*\",\"Action\":\"s3:PutObject\",\"Resource\":\"arn:aws:s3:::` + ackBucket + `/*\"}]}"}`, "PutBucketPolicy"},
		{`{"policy": null}`, "DeleteBucketPolicy"},
		{`{"publicAccessBlock": {"blockPublicACLs": true, "blockPublicPolicy": true, "ignorePublicACLs": true, "restrictPublicBuckets": false}}`, "PutPublicAccessBlock"},
		{`{"publicAccessBlock": null}`, "DeletePublicAccessBlock"},
		{`{"ownershipControls": {"rules": [{"objectOwnership": "ObjectWriter"}]}}`, "PutBucketOwnershipControls"},
		{`{"ownershipControls": null}`, "DeleteBucketOwnershipControls"},
	} {
		a.change(step.spec, step.operation)
	}
	a.kubectl("delete", "buckets.s3.services.k8s.aws", ackBucket, "--timeout=2m")
	if n := a.count("DeleteBucket"); n != 1 {
		t.Errorf("ACK deleted the bucket %d times", n)
	}
}

const ackBucket = "ack-judged"

// ackRepeats is an operation that ACK repeats for a bucket without encryption in its spec, because all buckets of S3 have an
// encryption.
const ackRepeats = "DeleteBucketEncryption"

// ackProgram builds the controller and returns the directory of its module and the executable.
func ackProgram(t *testing.T) (source, program string) {
	t.Helper()
	p := published{module: ackModule + "@" + ackVersion, main: ackModule + "/cmd/controller"}
	download := exec.CommandContext(t.Context(), "go", "mod", "download", p.module)
	download.Dir = t.TempDir()
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("the module proxy does not have the controller: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(p.run(t, t.TempDir(), "mod", "download", "-json", p.module), &module); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "ack")
	p.build(t, program)
	return module.Dir, program
}

// An ackCluster is a cluster whose S3 is the fake.
type ackCluster struct {
	t          *testing.T
	env        *testenv.Env
	store      *s3fake.Server
	kubeconfig string
}

// start starts the controller, which resynchronizes each second.
func (a ackCluster) start(program string) {
	a.t.Helper()
	log, err := os.Create(filepath.Join(a.t.TempDir(), "ack.log"))
	if err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.CommandContext(a.t.Context(), program, "--aws-region", a.store.Region(), "--aws-endpoint-url", a.store.URL(), "--aws-identity-endpoint-url", a.store.URL(),
		"--allow-unsafe-aws-endpoint-urls", "--reconcile-default-resync-seconds", "1", "--metrics-addr", "0", "--healthz-addr", "0", "--enable-carm=false")
	cmd.Env = []string{"KUBECONFIG=" + a.kubeconfig, "AWS_ACCESS_KEY_ID=" + a.store.Root().AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + a.store.Root().SecretAccessKey}
	cmd.Stdout, cmd.Stderr = log, log
	processtest.BindToTest(cmd)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = cmd.Wait() // killed at the end of the test
		if text, err := os.ReadFile(log.Name()); a.t.Failed() {
			a.t.Logf("the controller: %v\n%s", err, text)
		}
	})
}

func (a ackCluster) kubectl(arguments ...string) {
	a.t.Helper()
	programs, err := binaries.Find(a.t.Context(), binaries.Options{})
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := exec.CommandContext(a.t.Context(), programs.Kubectl, append([]string{"--kubeconfig", a.kubeconfig}, arguments...)...).CombinedOutput()
	a.t.Logf("kubectl %q\n%s", arguments, out)
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a ackCluster) create() {
	a.t.Helper()
	manifest := filepath.Join(a.t.TempDir(), "bucket.yaml")
	text := fmt.Appendf(nil, "apiVersion: s3.services.k8s.aws/v1alpha1\nkind: Bucket\nmetadata: {name: %[1]s}\nspec: {name: %[1]s}\n", ackBucket)
	if err := os.WriteFile(manifest, text, 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.kubectl("apply", "-f", manifest)
	a.settled("CreateBucket", 0)
}

// change merges a spec into that of the bucket, for which ACK must call the operation once.
func (a ackCluster) change(spec, operation string) {
	a.t.Helper()
	before := a.count(operation)
	a.kubectl("patch", "buckets.s3.services.k8s.aws", ackBucket, "--type=merge", "-p", `{"spec": `+spec+`}`)
	a.settled(operation, before)
}

// settled waits until ACK has called an operation, reports that the bucket is synchronized, and has then compared the bucket
// with its spec three times. These comparisons must not call the operation again, except ackRepeats.
func (a ackCluster) settled(operation string, before int) {
	a.t.Helper()
	until := func(operation string, n int) {
		a.env.Eventually(fmt.Sprintf("ACK has called %s %d times", operation, n), func(context.Context) error {
			if got := a.count(operation); got < n {
				return fmt.Errorf("ACK called it %d times; calls with errors: %v", got, a.failures())
			}
			return nil
		})
	}
	until(operation, before+1)
	a.kubectl("wait", "--for=condition=ACK.ResourceSynced", "buckets.s3.services.k8s.aws/"+ackBucket, "--timeout=2m")
	until("GetObjectLockConfiguration", a.count("GetObjectLockConfiguration")+3) // the last read of a bucket
	if n := a.count(operation); n != before+1 && operation != ackRepeats {
		a.t.Errorf("ACK called %s %d times for one change", operation, n-before)
	}
	if failures := a.failures(); len(failures) > 0 {
		a.t.Errorf("ACK received errors that it does not expect of AWS: %v", failures)
	}
}

// count counts the calls of an operation.
func (a ackCluster) count(operation string) (n int) {
	for _, call := range a.store.Calls() {
		if call.Operation == operation {
			n++
		}
	}
	return n
}

// failures returns the calls with an error, except for the absence of the bucket and of its settings.
func (a ackCluster) failures() []fault.Call {
	return slices.DeleteFunc(a.store.Calls(), func(call fault.Call) bool { return call.Status < 300 || call.Status == http.StatusNotFound })
}
