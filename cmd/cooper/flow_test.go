// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestCooperDoesWhatTheReadmePromises follows the README with the programs of a user: it claims a bucket,
// uses the credential, stores an object and deletes everything.
//
//nolint:paralleltest,tparallel // its parts follow one another
func TestCooperDoesWhatTheReadmePromises(t *testing.T) {
	t.Parallel()
	up := startUp(t)
	env := up.environment(t)

	if got := up.kubectl(t, env, "get", "cosi", "-A"); !strings.Contains(got, "bucketclaim.objectstorage.k8s.io/sample") || !strings.Contains(got, "bucketaccess.objectstorage.k8s.io/sample") {
		t.Errorf("kubectl get cosi -A shows neither claim nor access:\n%s", got)
	}
	up.kubectl(t, env, "wait", "--for=condition=Provisioned", "--timeout=3m", "bucketclaim/sample", "bucketaccess/sample")
	held := up.holders(t, env)
	for _, lease := range []string{"cosi-controller", "cosi-driver-s3.cooper.dev", "cosi-driver-azure.cooper.dev", "cosi-driver-gcs.cooper.dev"} {
		if held[lease] == "" {
			t.Errorf("the Lease %s has no holder: %q", lease, held)
		}
	}

	t.Run("aws", func(t *testing.T) { useAWS(t, env) })
	t.Run("minio-go", func(t *testing.T) { useMinio(t, env) })

	t.Run("azure", func(t *testing.T) { useAzure(t, env, up) })
	t.Run("gcs", func(t *testing.T) { useGCS(t, up) })

	// A Secret that is deleted manually is recreated with the same credential, without waiting for a resync.
	up.replaced(t, env, "sample-credentials")
	if again := up.environment(t); again["AWS_ACCESS_KEY_ID"] != env["AWS_ACCESS_KEY_ID"] {
		t.Errorf("the Secret that was deleted came back with the key %q, want %q", again["AWS_ACCESS_KEY_ID"], env["AWS_ACCESS_KEY_ID"])
	}

	up.kubectl(t, env, "delete", "bucketaccess", "sample", "--timeout=3m")
	_, err := minioClient(t, env).StatObject(t.Context(), env["BUCKET_NAME"], "hello.txt", minio.StatObjectOptions{})
	if code := codeOf(listError(t, env)); code != "InvalidAccessKeyId" {
		t.Errorf("the credential after its access was deleted: want InvalidAccessKeyId, got %q (stat: %v)", code, err)
	}
	if got := cooper(t, nil, "env", "--data", up.data); got.code != 0 || !strings.Contains(got.stdout, "export KUBECONFIG=") || !strings.Contains(got.stderr, "sample-credentials") {
		t.Errorf("cooper env without the access: exit %d, want the way to the API server and a word about the Secret:\n%s%s", got.code, got.stdout, got.stderr)
	}
	if now := up.environmentAfter(t, env); now["AWS_ACCESS_KEY_ID"] != "" || now["BUCKET_NAME"] != "" || now["KUBECONFIG"] == "" {
		t.Errorf("cooper env without the access leaves its variables in the shell: %v", now)
	}
	emptyBucket(t, env, up)

	if status := anonymousHead(t, env); status != http.StatusForbidden {
		t.Errorf("the bucket before its claim is deleted, seen by a stranger: want 403, got %d", status)
	}
	up.kubectl(t, env, "delete", "bucketclaim", "sample", "--timeout=3m")
	up.kubectl(t, env, "wait", "--for=delete", "--timeout=3m", "buckets.objectstorage.k8s.io", "--all")
	if status := anonymousHead(t, env); status != http.StatusNotFound {
		t.Errorf("the bucket after its claim was deleted, seen by a stranger: want 404, got %d", status)
	}
	up.kubectl(t, env, "delete", "namespace", "tutorial", "--timeout=3m")
	up.interrupt(t)
	if strings.Contains(up.stderr.String(), "SetLogger") {
		t.Errorf("a library prints to the terminal:\n%s", up.stderr)
	}
}

// emptyBucket deletes the test's objects with an access of its own, because a bucket that holds data is not
// deleted.
func emptyBucket(t *testing.T, env map[string]string, up *upProcess) {
	t.Helper()
	if said := up.kubectl(t, env, "apply", "-f", "../../docs/tutorial/"); strings.Contains(said, "Warning") || !strings.Contains(said, "bucketclass.objectstorage.k8s.io/sample unchanged") {
		t.Errorf("kubectl apply of what cooper up has applied: %s", said)
	}
	up.kubectl(t, env, "wait", "--for=condition=Provisioned", "--timeout=3m", "bucketaccess/sample")
	if _, err := os.Stat(filepath.Join(up.data, "kubectl-cache", "discovery")); err != nil {
		t.Errorf("kubectl remembers the API server elsewhere than in cooper's directory: %v", err)
	}
	again := up.environment(t)
	client := minioClient(t, again)
	for object := range client.ListObjects(t.Context(), again["BUCKET_NAME"], minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil {
			t.Fatalf("list: %v", object.Err)
		}
		if err := client.RemoveObject(t.Context(), again["BUCKET_NAME"], object.Key, minio.RemoveObjectOptions{}); err != nil {
			t.Fatalf("delete %s: %v", object.Key, err)
		}
	}
	up.kubectl(t, env, "delete", "bucketaccess", "sample", "--timeout=3m")
}

// useGCS claims a Cloud Storage bucket next to the others and uses it with an S3 client and the HMAC key pair
// that cooper env prints.
func useGCS(t *testing.T, up *upProcess) {
	t.Helper()
	env := up.environment(t)
	up.kubectl(t, env, "apply", "-f", "../../docs/tutorial/gcs/")
	up.kubectl(t, env, "wait", "--for=condition=Provisioned", "--timeout=3m", "bucketclaim/gcs", "bucketaccess/gcs")
	given := up.environment(t, "--secret", "gcs-credentials")
	for _, key := range []string{"HMAC_ACCESS_ID", "HMAC_SECRET", "CLIENT_EMAIL", "CLIENT_ID", "PRIVATE_KEY_ID", "PRIVATE_KEY", "PROJECT_ID", "BUCKET_NAME", "GCS_ENDPOINT_URL"} {
		if given[key] == "" {
			t.Errorf("cooper env does not set %s", key)
		}
	}
	client, err := minio.New(strings.TrimPrefix(given["GCS_ENDPOINT_URL"], "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(given["HMAC_ACCESS_ID"], given["HMAC_SECRET"], ""), BucketLookup: minio.BucketLookupPath, Region: "auto",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(t.Context(), given["BUCKET_NAME"], "hello.txt", strings.NewReader("hello"), 5, minio.PutObjectOptions{}); err != nil {
		t.Fatalf("put: %v", err)
	}
	if err := client.RemoveObject(t.Context(), given["BUCKET_NAME"], "hello.txt", minio.RemoveObjectOptions{}); err != nil {
		t.Fatalf("remove: %v", err)
	}
	up.kubectl(t, env, "delete", "bucketaccess", "gcs", "--timeout=3m")
	if _, err := client.StatObject(t.Context(), given["BUCKET_NAME"], "hello.txt", minio.StatObjectOptions{}); minio.ToErrorResponse(err).StatusCode != http.StatusForbidden {
		t.Errorf("the credential after its access was deleted: %v", err)
	}
	up.kubectl(t, env, "delete", "bucketclaim", "gcs", "--timeout=3m")
}

// useAzure claims a container next to the bucket and uses it with the Azure SDK.
func useAzure(t *testing.T, env map[string]string, up *upProcess) {
	t.Helper()
	up.kubectl(t, env, "apply", "-f", "../../docs/tutorial/azure/")
	up.kubectl(t, env, "wait", "--for=condition=Provisioned", "--timeout=3m", "bucketclaim/azure", "bucketaccess/azure")
	encoded := up.kubectl(t, env, "get", "secret", "azure-credentials", "-o", "jsonpath={.data.AZURE_STORAGE_SAS_TOKEN}")
	token, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatalf("the token in the Secret: %v", err)
	}
	client, err := container.NewClientWithNoCredential(string(token), nil)
	if err != nil {
		t.Fatal(err)
	}
	blob := client.NewBlockBlobClient("hello.txt")
	if _, err := blob.UploadBuffer(t.Context(), []byte("hello"), nil); err != nil {
		t.Fatalf("put: %v", err)
	}
	if _, err := blob.Delete(t.Context(), nil); err != nil {
		t.Fatalf("delete: %v", err)
	}
	up.kubectl(t, env, "delete", "bucketaccess", "azure", "--timeout=3m")
	if _, err := client.NewListBlobsFlatPager(nil).NextPage(t.Context()); !bloberror.HasCode(err, bloberror.AuthenticationFailed) {
		t.Errorf("the credential after its access was deleted: want AuthenticationFailed, got %v", err)
	}
	up.kubectl(t, env, "delete", "bucketclaim", "azure", "--timeout=3m")
}

func useAWS(t *testing.T, env map[string]string) {
	t.Helper()
	program := awsProgram(t)
	run := func(stdin string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), program, append([]string{"--endpoint-url", env["AWS_ENDPOINT_URL"]}, args...)...)
		command.Env = append(shellEnvironment(env), "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null")
		command.Stdin = strings.NewReader(stdin)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("aws %s: %v\n%s", strings.Join(args, " "), err, stderrOf(err))
		}
		return string(out)
	}
	object := "s3://" + env["BUCKET_NAME"] + "/aws/hello.txt"
	run("hello from aws", "s3", "cp", "-", object)
	if got := run("", "s3", "ls", "--recursive", "s3://"+env["BUCKET_NAME"]); !strings.Contains(got, "aws/hello.txt") {
		t.Errorf("aws s3 ls does not list the object:\n%s", got)
	}
	if got := run("", "s3", "cp", object, "-"); got != "hello from aws" {
		t.Errorf("aws s3 cp: want the stored object, got %q", got)
	}
}

// awsProgram returns the path of the AWS CLI. It prefers the Debian package, which the README names.
func awsProgram(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/usr/bin/aws"); err == nil {
		return "/usr/bin/aws"
	}
	program, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("there is no AWS CLI on this machine: apt-get install awscli")
	}
	return program
}

func useMinio(t *testing.T, env map[string]string) {
	t.Helper()
	client, bucket := minioClient(t, env), env["BUCKET_NAME"]
	const text = "hello from minio-go"
	if _, err := client.PutObject(t.Context(), bucket, "hello.txt", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		t.Fatalf("put: %v", err)
	}
	var keys []string
	for object := range client.ListObjects(t.Context(), bucket, minio.ListObjectsOptions{Prefix: "hello"}) {
		if object.Err != nil {
			t.Fatalf("list: %v", object.Err)
		}
		keys = append(keys, object.Key)
	}
	if len(keys) != 1 || keys[0] != "hello.txt" {
		t.Errorf("list: want hello.txt, got %q", keys)
	}
	object, err := client.GetObject(t.Context(), bucket, "hello.txt", minio.GetObjectOptions{})
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	defer object.Close()
	got, err := io.ReadAll(object)
	if err != nil || string(got) != text {
		t.Errorf("get: want %q, got %q, %v", text, got, err)
	}
	if _, err := client.ListBuckets(t.Context()); codeOf(err) != "AccessDenied" {
		t.Errorf("ListBuckets, which was not granted: want AccessDenied, got %v", err)
	}
}

func minioClient(t *testing.T, env map[string]string) *minio.Client {
	t.Helper()
	endpoint, err := url.Parse(env["AWS_ENDPOINT_URL"])
	if err != nil {
		t.Fatal(err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], ""),
		Region: env["AWS_DEFAULT_REGION"],
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func listError(t *testing.T, env map[string]string) error {
	t.Helper()
	for object := range minioClient(t, env).ListObjects(t.Context(), env["BUCKET_NAME"], minio.ListObjectsOptions{}) {
		return object.Err
	}
	return nil
}

func codeOf(err error) string {
	if response, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return response.Code
	}
	return ""
}

// anonymousHead sends HEAD for the bucket without a credential: 403 means that the bucket exists, 404 that it
// does not.
func anonymousHead(t *testing.T, env map[string]string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, env["AWS_ENDPOINT_URL"]+"/"+env["BUCKET_NAME"], http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestAKilledCooperStartsAgain kills cooper with SIGKILL and verifies that its directory stays usable and
// that claims and data are still there.
func TestAKilledCooperStartsAgain(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the control plane's own tests kill it")
	up := startUp(t)
	before := up.environment(t)
	useMinio(t, before)
	leases := []string{"-n", "cosi-system", "get", "leases", "-o", "jsonpath={.items[*].metadata.uid}"}
	held := up.kubectl(t, before, leases...)
	up.kill(t)

	again := startUpIn(t, up.data)
	after := again.environment(t)
	// If the new process waited for an old Lease to expire, it would take over minutes later.
	for uid := range strings.FieldsSeq(again.kubectl(t, after, leases...)) {
		if strings.Contains(held, uid) || held == "" {
			t.Errorf("the Lease %s was not new: those of the killed run were %s", uid, held)
		}
	}
	if before["BUCKET_NAME"] != after["BUCKET_NAME"] || before["AWS_ACCESS_KEY_ID"] != after["AWS_ACCESS_KEY_ID"] {
		t.Errorf("bucket and key before: %s %s, after: %s %s", before["BUCKET_NAME"], before["AWS_ACCESS_KEY_ID"], after["BUCKET_NAME"], after["AWS_ACCESS_KEY_ID"])
	}
	if _, err := minioClient(t, after).StatObject(t.Context(), after["BUCKET_NAME"], "hello.txt", minio.StatObjectOptions{}); err != nil {
		t.Errorf("the object stored before the kill: %v", err)
	}
	if got := cooper(t, nil, "down", "--data", up.data); got.code != 0 || !strings.Contains(got.stderr, "has stopped") {
		t.Errorf("cooper down: exit %d: %s", got.code, got.stderr)
	}
	again.awaitExit(t)
	if got := cooper(t, nil, "env", "--data", up.data); got.code != 1 || !strings.Contains(got.stderr, "no system is running in "+up.data) {
		t.Errorf("cooper env when nothing runs: exit %d: %s", got.code, got.stderr)
	}
}

// TestBadInput starts cooper with invalid input and checks the messages.
func TestBadInput(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a whole system")
	holder := startUp(t)
	foreign := t.TempDir()
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	refused := filepath.Join(t.TempDir(), "refused.yaml")
	for path, text := range map[string]string{
		filepath.Join(foreign, "thesis.tex"): "x",
		broken:                               "kind: [",
		refused:                              "apiVersion: objectstorage.k8s.io/v1alpha2\nkind: BucketClaim\nmetadata: {name: a}\nspec: {}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	busy := holder.environment(t)["AWS_ENDPOINT_URL"]
	busyPort := busy[strings.LastIndex(busy, ":")+1:]
	for name, tc := range map[string]struct {
		args []string
		env  []string
		code int
		want []string
	}{
		"a directory that a living cooper uses": {
			args: []string{"up", "--data", holder.data}, code: 1,
			want: []string{"cooper is already running: process", busy, "cooper down --data " + holder.data},
		},
		"a directory that is not cooper's": {
			args: []string{"up", "--data", foreign}, code: 1,
			want: []string{foreign, "did not create"},
		},
		"a busy port for S3": {
			args: []string{"up", "--data", newData(t), "--s3-port", busyPort}, code: 1,
			want: []string{"the port is in use", busyPort},
		},
		"a port that is none": {
			args: []string{"up", "--data", newData(t), "--api-port", "99999"}, code: 1,
			want: []string{"--api-port 99999 is not a port"},
		},
		"a namespace that cannot be": {
			args: []string{"up", "--data", newData(t), "--namespace", "Bad_NS"}, code: 1,
			want: []string{`--namespace "Bad_NS" is not a valid namespace name`},
		},
		"a busy port for the API server": {
			args: []string{"up", "--data", newData(t), "--api-port", busyPort}, code: 1,
			want: []string{"cannot use port " + busyPort + " for the API server"},
		},
		"a manifest that is not YAML": {
			args: []string{"up", "--data", newData(t), "--manifests", broken}, code: 1,
			want: []string{"broken.yaml, document 1 is not valid YAML"},
		},
		"a manifest that the API server refuses": {
			args: []string{"up", "--data", newData(t), "--manifests", refused}, code: 1,
			want: []string{"refused.yaml, document 1: apply BucketClaim a: ", "bucketClassName"},
		},
		"a manifest that is not there": {
			args: []string{"up", "--data", newData(t), "--manifests", "/does/not/exist"}, code: 1,
			want: []string{"--manifests", "/does/not/exist"},
		},
		"executables that are missing": {
			args: []string{"up", "--data", newData(t)}, env: []string{"KUBEBUILDER_ASSETS=" + foreign}, code: 1,
			want: []string{"KUBEBUILDER_ASSETS", "kube-apiserver"},
		},
		"a command that does not exist": {
			args: []string{"upp"}, code: 2, want: []string{`unknown command "upp"`},
		},
		"a flag that does not exist": {
			args: []string{"up", "--dtaa", "x"}, code: 2, want: []string{"unknown flag: --dtaa; see --help"},
		},
		"a variable that makes no sense": {
			args: []string{"up"}, env: []string{"COOPER_S3_PORT=http"}, code: 2, want: []string{`environment variable COOPER_S3_PORT: invalid argument "http"`},
		},
		"a control plane on a port that is none": {
			args: []string{"control-plane", "--kubeconfigs", foreign, "--port", "99999"}, code: 1, want: []string{"--port 99999 is not a port"},
		},
		"a driver name that is a path": {
			args: []string{"control-plane", "--kubeconfigs", foreign, "--driver", "../x"}, code: 1, want: []string{"--driver: ", `"../x"`},
		},
		"a health address without a port": {
			args: []string{"control-plane", "--kubeconfigs", foreign, "--health-address", "x"}, code: 1, want: []string{"--health-address: ", "127.0.0.1:8081"},
		},
		"fakes without a word more": {
			args: []string{"fakes"}, code: 2, want: []string{"cooper fakes: missing command", "fakes s3 "},
		},
		"a fake that does not exist": {
			args: []string{"fakes", "ftp"}, code: 2, want: []string{`cooper fakes: unknown command "ftp"`, "fakes s3 "},
		},
		"help for a command that does not exist": {
			args: []string{"help", "upp"}, code: 2, want: []string{`unknown command "upp"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cooper(t, tc.env, tc.args...)
			if got.code != tc.code {
				t.Errorf("exit code: want %d, got %d", tc.code, got.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("standard error lacks %q:\n%s", want, got.stderr)
				}
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no argument":               {nil, " run the whole system until Ctrl-C"},
		"help":                      {[]string{"help"}, "  fakes s3 "},
		"a flag":                    {[]string{"--help"}, "cooper help COMMAND"},
		"help for a command":        {[]string{"help", "up"}, "[COOPER_S3_PORT]"},
		"a command's flag":          {[]string{"up", "--help"}, "--s3-port"},
		"help for a group":          {[]string{"help", "fakes"}, "  fakes s3 "},
		"a group's flag":            {[]string{"fakes", "--help"}, "  fakes s3 "},
		"help for one of the group": {[]string{"help", "fakes", "s3"}, "cooper fakes s3: "},
		"help for the fake Azure":   {[]string{"help", "fakes", "azure"}, "cooper fakes azure: "},
		"version":                   {[]string{"version"}, "cooper "},
		"version as a flag":         {[]string{"--version"}, "cooper "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cooper(t, []string{"COOPER_VERSION=1.2.3", "COOPER_HELP=1"}, tc.args...)
			if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, tc.want) {
				t.Errorf("want exit code 0 and %q, got %d\n%s%s", tc.want, got.code, got.stdout, got.stderr)
			}
		})
	}
}

// result is the exit code and output of a command.
type result struct {
	stdout, stderr string
	code           int
}

// cooper runs the built program until it exits.
func cooper(t *testing.T, env []string, args ...string) result {
	t.Helper()
	command := exec.CommandContext(t.Context(), program(t), args...)
	command.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("cooper %s: %v", strings.Join(args, " "), err)
	}
	return result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

func stderrOf(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}
