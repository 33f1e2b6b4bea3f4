// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/stores"
	"github.com/cooper-cosi/cooper/testenv/stores/storestest"
)

// findBinary returns the path of a real store's server. If it is not installed, it calls storestest.Missing.
func findBinary(t *testing.T, store stores.Store) string {
	t.Helper()
	path, err := store.Find()
	if err != nil {
		storestest.Missing(t, err)
	}
	return path
}

// startProcess runs a server until the test ends. Its output is shown if the test fails.
func startProcess(t *testing.T, path string, environment []string, arguments ...string) {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	mustSucceed(t, err)
	command := exec.CommandContext(context.WithoutCancel(t.Context()), path, arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = output, output
	mustSucceed(t, command.Start())
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Errorf("end %s: %v", path, err)
		}
		_ = command.Wait()
		if !t.Failed() {
			return
		}
		if _, err := output.Seek(0, io.SeekStart); err == nil {
			text, _ := io.ReadAll(output)
			t.Logf("output of %s:\n%s", path, text)
		}
	})
}

// waitFor requests the URL until there is a response.
func waitFor(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// This only checks whether the store responds.
	direct := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		mustSucceed(t, err)
		response, err := direct.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		if err == nil && response.StatusCode < http.StatusInternalServerError {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not answer: %v", url, errors.Join(err, ctx.Err()))
		case <-ticker.C:
		}
	}
}

const (
	rootAccessKey = "rootaccesskey"
	rootSecretKey = "root-secret-key"
)

// startVersityIAM starts versitygw with its own IAM API, and returns the endpoints of S3 and IAM.
func startVersityIAM(t *testing.T) (string, string) {
	t.Helper()
	path := findBinary(t, stores.VersityGW())
	directory := processtest.ShortTempDir(t)
	data, versions, accounts := filepath.Join(directory, "data"), filepath.Join(directory, "versions"), filepath.Join(directory, "iam")
	for _, needed := range []string{data, versions, accounts} {
		mustSucceed(t, os.Mkdir(needed, 0o700))
	}
	socket := filepath.Join(directory, "iam.sock")
	iamAddress, s3Address := freeport.ForTest(t).Address(), freeport.ForTest(t).Address()
	startProcess(t, path, nil, "-p", iamAddress, "-a", rootAccessKey, "-s", rootSecretKey, "--keep-alive",
		"iam", "--quiet", "--dir", accounts, "--private-ports", socket)
	waitFor(t, "http://"+iamAddress)
	startProcess(t, path, nil, "-p", s3Address, "-a", rootAccessKey, "-s", rootSecretKey, "--quiet", "--keep-alive",
		"--iam-cache-disable", "--iam-standalone-endpoint", socket, "posix", "--versioning-dir", versions, data)
	waitFor(t, "http://"+s3Address)
	return "http://" + s3Address, "http://" + strings.TrimPrefix(iamAddress, "http://")
}

// startVersity starts versitygw with its own accounts, and returns its endpoint.
func startVersity(t *testing.T, with certificate) string {
	t.Helper()
	path := findBinary(t, stores.VersityGW())
	root := t.TempDir()
	data, versions, accounts := filepath.Join(root, "data"), filepath.Join(root, "versions"), filepath.Join(root, "iam")
	for _, needed := range []string{data, versions, accounts} {
		mustSucceed(t, os.Mkdir(needed, 0o700))
	}
	address := freeport.ForTest(t).Address()
	startProcess(t, path, []string{"VGW_CERT=" + with.cert, "VGW_KEY=" + with.key}, "-p", address, "-a", rootAccessKey, "-s", rootSecretKey,
		"--quiet", "--keep-alive", "--iam-cache-disable", "--iam-dir", accounts, "posix", "--versioning-dir", versions, data)
	waitFor(t, with.url(address))
	return with.url(address)
}

// startMinIO starts MinIO with additional environment variables, and returns its endpoint.
func startMinIO(t *testing.T, with certificate, more ...string) string {
	t.Helper()
	if with.dir == "" {
		with.dir = t.TempDir()
	}
	path := findBinary(t, stores.MinIO())
	address := freeport.ForTest(t).Address()
	environment := []string{"MINIO_ROOT_USER=" + rootAccessKey, "MINIO_ROOT_PASSWORD=" + rootSecretKey, "MINIO_UPDATE=off", "MINIO_BROWSER=off"}
	startProcess(t, path, append(environment, more...),
		"server", "--quiet", "--address", address, "--certs-dir", with.dir, t.TempDir())
	waitFor(t, with.url(address)+"/minio/health/cluster")
	return with.url(address)
}

// startSeaweedFS starts SeaweedFS in one process with one volume for each bucket, and returns its endpoint. It is
// configured to delete a bucket together with its objects, which the driver must prevent, and with a signing key, which
// it needs for sessions.
func startSeaweedFS(t *testing.T, with certificate) string {
	t.Helper()
	path := findBinary(t, stores.SeaweedFS())
	directory, data := processtest.ShortTempDir(t), t.TempDir()
	address := freeport.ForTest(t).Address()
	host, port, err := net.SplitHostPort(address)
	mustSucceed(t, err)
	plain, secure := port, "0"
	if with.cert != "" {
		plain, secure = strconv.Itoa(freeport.ForTest(t).Number), port
	}
	arguments := []string{
		"-logtostderr", "server", "-dir", data, "-ip", host, "-ip.bind", host, "-s3", "-volume.max", "0", "-volume.preStopSeconds", "0",
		"-master.volumeSizeLimitMB", "64", "-master.telemetry=false",
		"-s3.port", plain, "-s3.port.https", secure, "-s3.cert.file", with.cert, "-s3.key.file", with.key,
		"-s3.port.iceberg", "0", "-s3.port.lance", "0", "-s3.iam.readOnly=false", "-s3.allowDeleteBucketNotEmpty",
		"-filer.localSocket", filepath.Join(directory, "filer"), "-s3.localSocket", filepath.Join(directory, "s3"),
	}
	for _, name := range []string{"master", "volume", "filer"} {
		arguments = append(arguments, "-"+name+".port", strconv.Itoa(freeport.ForTest(t).Number))
	}
	for _, name := range []string{"master", "volume", "filer", "s3"} {
		number := strconv.Itoa(freeport.ForTest(t).Number)
		arguments = append(arguments, "-"+name+".port.grpc", number)
		t.Cleanup(func() { _ = os.Remove("/tmp/seaweedfs-" + name + "-grpc-" + number + ".sock") }) // no flag sets this path
	}
	environment := []string{
		"AWS_ACCESS_KEY_ID=" + rootAccessKey, "AWS_SECRET_ACCESS_KEY=" + rootSecretKey,
		"WEED_MASTER_VOLUME_GROWTH_COPY_1=1", "WEED_JWT_FILER_SIGNING_KEY=" + strings.Repeat("k", 32),
	}
	startProcess(t, path, environment, arguments...)
	waitFor(t, with.url(address)+"/status")
	return with.url(address)
}

// inventory lists everything at the store and in the credential store, as seen by its administrator.
func inventory(t *testing.T, on target, store *credstore.Memory) []string {
	t.Helper()
	lines, err := on.list(t.Context())
	mustSucceed(t, err)
	for _, account := range store.Accounts() {
		// The record of the backends in use is kept.
		if strings.HasPrefix(account, "driver/") {
			continue
		}
		lines = append(lines, "stored "+account)
	}
	slices.Sort(lines)
	return lines
}

// list returns the contents of the store: "kind name" lines of buckets, users, keys and policies.
func (on target) list(ctx context.Context) ([]string, error) {
	lines, err := on.accounts(ctx)
	if err != nil {
		return nil, err
	}
	root := s3Client(on.backend.Endpoint, "us-east-1", on.rootID, on.rootSecret)
	buckets, err := root.ListBuckets(ctx, &s3.ListBucketsInput{})
	if err != nil {
		return nil, err
	}
	for _, bucket := range buckets.Buckets {
		lines = append(lines, "bucket "+aws.ToString(bucket.Name))
	}
	return lines, nil
}

// iamAccounts lists users, keys and inline policies through an IAM API.
func iamAccounts(ctx context.Context, endpoint, id, secret string) ([]string, error) {
	client := iam.New(iam.Options{BaseEndpoint: aws.String(endpoint), Region: "us-east-1", Credentials: fixedCredentials(id, secret)})
	users, err := client.ListUsers(ctx, &iam.ListUsersInput{})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, user := range users.Users {
		name := aws.ToString(user.UserName)
		lines = append(lines, "user "+name)
		keys, err := client.ListAccessKeys(ctx, &iam.ListAccessKeysInput{UserName: user.UserName})
		if err != nil {
			return nil, err
		}
		for _, key := range keys.AccessKeyMetadata {
			lines = append(lines, "key "+name+" "+aws.ToString(key.AccessKeyId))
		}
		policies, err := client.ListUserPolicies(ctx, &iam.ListUserPoliciesInput{UserName: user.UserName})
		if err != nil {
			return nil, err
		}
		for _, policy := range policies.PolicyNames {
			lines = append(lines, "policy "+name+" "+policy)
		}
	}
	return lines, nil
}

// adminAccounts lists users and policies through the admin API of a store. Each of its users is a key of an account.
func adminAccounts(ctx context.Context, kind s3driver.BackendType, endpoint, id, secret string) ([]string, error) {
	client := &adminapi.Client{
		Name: string(kind), Endpoint: endpoint, Region: "us-east-1", Credentials: fixedCredentials(id, secret), HTTP: http.DefaultClient,
	}
	call := func(method, path string) ([]byte, error) {
		return client.Call(ctx, adminapi.Request{Operation: path, Method: method, Path: path})
	}
	if kind == s3driver.TypeVersityGW {
		answer, err := call(http.MethodPatch, "/list-users")
		if err != nil {
			return nil, err
		}
		return versityAccounts(answer)
	}
	answer, err := call(http.MethodGet, "/minio/admin/v3/export-iam")
	if err != nil {
		return nil, err
	}
	return minioAccounts(answer)
}

func versityAccounts(answer []byte) ([]string, error) {
	var parsed struct {
		Accounts []struct{ Access string }
	}
	if err := xml.Unmarshal(answer, &parsed); err != nil {
		return nil, err
	}
	var lines []string
	for _, found := range parsed.Accounts {
		lines = append(lines, "key "+found.Access)
	}
	return lines, nil
}

// minioAccounts reads MinIO's export of all account data. This is cheaper than its list of users, which is encrypted
// with a key that takes 64 MB to derive.
func minioAccounts(archive []byte) ([]string, error) {
	files, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	var lines []string
	for kind, name := range map[string]string{"policy": "policies", "key": "users"} {
		text, err := fs.ReadFile(files, "iam-assets/"+name+".json")
		if err != nil {
			return nil, err
		}
		var found map[string]json.RawMessage
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, err
		}
		for name := range found {
			lines = append(lines, kind+" "+name)
		}
	}
	return lines, nil
}

// onEveryTarget runs a test that does not depend on the store; in the short tier it uses only the fake.
func onEveryTarget(t *testing.T, run func(t *testing.T, on target)) {
	t.Helper()
	if *runningStore != "" {
		t.Run(*runningStore, func(t *testing.T) { run(t, running(t)) })
		return
	}
	t.Run("our fake", func(t *testing.T) {
		t.Parallel()
		run(t, ourFake(t))
	})
	for name, start := range map[string]func(*testing.T) target{
		"versitygw with IAM":     versityIAM,
		"versitygw":              versityAdmin,
		"MinIO":                  realMinIO,
		"Ceph":                   realCeph,
		"our fake, as SeaweedFS": fakeSeaweedFS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fulltest.Only(t, "the same on a real store")
			run(t, start(t))
		})
	}
	t.Run("SeaweedFS", func(t *testing.T) {
		t.Parallel()
		fulltest.Long(t, "the same on stores that are built faster")
		run(t, realSeaweedFS(t))
	})
}

// TestBehaviour tests behavior on every store that the conformance suite does not test. All its tests share one store of
// each kind, because starting a real one takes longer than most tests. They must not count the contents of the store or
// break it.
func TestBehaviour(t *testing.T) {
	t.Parallel()
	behaviours := map[string]func(t *testing.T, on target){
		"every API responds":                     testEveryStoreResponds,
		"modes, by trying":                       testModesByTrying,
		"modes that a class disallows":           testDisallowedModes,
		"disallowed modes, heard late":           testRepeatedWithDisallowedModes,
		"parameters of buckets":                  testParametersAtTheStore,
		"events of a bucket":                     testEventsOfABucket,
		"a static bucket that must fit":          testStaticBucketMustFitItsParameters,
		"a clone of the cluster":                 testClone,
		"tags of buckets turned off":             testTaggingTurnedOff,
		"removal by hand":                        testBucketAndUserRemovedByHand,
		"deletion of a bucket that is not empty": testDeleteNonEmptyRemovesVersionsMarkersAndUploads,
		"a lost credential store":                testLostCredentialStoreDeletesNoLiveKey,
		"a store that is down":                   testStoreThatIsDown,
		"a wrong login":                          testWrongLogin,
	}
	onEveryTarget(t, func(t *testing.T, on target) {
		for name, test := range behaviours {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, on)
			})
		}
	})
}
