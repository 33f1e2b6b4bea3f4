// SPDX-License-Identifier: Apache-2.0

// Package drivercmdtest contains the tests that the commands of all drivers share.
package drivercmdtest

import (
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Launch describes how to start a command.
type Launch struct {
	// Environment is the complete environment of the process.
	Environment map[string]string
	// Arguments are the command line.
	Arguments []string
}

// Start starts the command. Its TestMain must have called processtest.ProgramMain.
func (l Launch) Start(t *testing.T) *processtest.Process {
	t.Helper()
	pairs := make([]string, 0, len(l.Environment))
	for name, value := range l.Environment {
		pairs = append(pairs, name+"="+value)
	}
	return processtest.StartProgram(t, pairs, l.Arguments...)
}

// with returns the launch with additional environment variables.
func (l Launch) with(more map[string]string) Launch {
	whole := maps.Clone(more)
	maps.Copy(whole, l.Environment)
	return Launch{whole, l.Arguments}
}

// Life describes the processes of one driver, which run one after the other on the same store.
type Life struct {
	// Launches configure the processes. All use the same store, with different configurations.
	Launches []Launch
	// Protocol is the protocol of the access, and Parameters are those of its class.
	Protocol   cosi.ObjectProtocol_Type
	Parameters map[string]string
	// Secrets returns the secret values of the granted credential.
	Secrets func(granted *cosi.CredentialInfo) []string
	// Own are the driver's own secrets.
	Own []string
	// Metric must be in the metrics, and Spans in the traces, of a process that has created a bucket and granted
	// access.
	Metric string
	Spans  []string
}

// Test has each process create a bucket and grant the access. It then reads the metrics and traces of the process and
// terminates the process. All grants must return the same credential, and logs, metrics and traces must not contain
// secrets.
func (l Life) Test(t *testing.T) {
	t.Helper()
	collector := processtest.NewCollector(t)
	endpoint, health, metrics := drivertest.Endpoint(t), freeport.ForTest(t).Address(), freeport.ForTest(t).Address()
	common := map[string]string{
		driverkit.EndpointVariable: endpoint, "COOPER_LOG_LEVEL": "debug", "COOPER_HEALTH_ADDRESS": health,
		"COOPER_METRICS_ADDRESS": metrics, "COOPER_TRACES_ENDPOINT": collector.URL,
	}
	bucket, account := "bc-"+uuid.NewString(), "ba-"+uuid.NewString()
	var first []string
	for i, launch := range l.Launches {
		process := launch.with(common).Start(t)
		client := drivertest.Dial(t, endpoint)
		// The existing bucket, and a new one so that the call appears in the metrics.
		createBucket(t, client, bucket)
		createBucket(t, client, "bc-"+uuid.NewString())
		secrets := l.grant(t, client, account, bucket)
		if first == nil {
			first = secrets
		}
		if !cmp.Equal(first, secrets) {
			t.Errorf("process %d returns another credential", i+1)
		}
		process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
		page := process.AwaitPage("http://"+metrics+"/metrics", http.StatusOK, l.Metric)
		end(t, process, endpoint)
		told := process.Output() + collector.Received() + page
		for _, secret := range append(secrets, l.Own...) {
			if secret == "" || strings.Contains(told, secret) {
				t.Errorf("the secret is missing, or is in the log, the traces or the metrics:\n%s", process.Output())
			}
		}
	}
	for _, span := range l.Spans {
		if !strings.Contains(collector.Received(), span) {
			t.Errorf("no span of %s was exported", span)
		}
	}
}

func createBucket(t *testing.T, client *drivertest.Client, id string) {
	t.Helper()
	if _, err := client.DriverCreateBucket(t.Context(), &cosi.DriverCreateBucketRequest{BucketId: id}); err != nil {
		t.Error(err)
	}
}

// grant grants access and returns the secrets of the credential.
func (l Life) grant(t *testing.T, client *drivertest.Client, account, bucket string) []string {
	t.Helper()
	granted, err := client.DriverGrantBucketAccess(t.Context(), &cosi.DriverGrantBucketAccessRequest{
		AccountId:          account,
		Protocol:           &cosi.ObjectProtocol{Type: l.Protocol},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Parameters:         l.Parameters,
		Buckets:            []*cosi.AccessedBucket{{BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l.Secrets(granted.GetCredentials())
}

// end terminates the process and checks that it leaves no socket.
func end(t *testing.T, process *processtest.Process, endpoint string) {
	t.Helper()
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d\n%s", code, process.Output())
	}
	if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); err == nil {
		t.Error("the socket still exists")
	}
}

// BadStart is a launch that must fail.
type BadStart struct {
	Launch

	// Code is the exit code, and Want a substring of the output.
	Code int
	Want string
}

// BadStarts checks that the command refuses the invalid launches common to all drivers and the given ones, with a
// helpful message.
func BadStarts(t *testing.T, starts map[string]BadStart) {
	t.Helper()
	all := map[string]BadStart{
		"an unknown flag":          {Launch{nil, []string{"--nope"}}, 2, "unknown flag: --nope; see --help"},
		"no socket to listen on":   {Launch{map[string]string{driverkit.EndpointVariable: ""}, nil}, 2, "--endpoint or COSI_ENDPOINT: no endpoint is set; use unix:///"},
		"a file that is not there": {Launch{nil, []string{"--config=/nowhere.yaml"}}, 1, "/nowhere.yaml"},
	}
	maps.Copy(all, starts)
	for name, start := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := start.with(map[string]string{driverkit.EndpointVariable: drivertest.Endpoint(t)}).Start(t)
			if code := process.Exit(); code != start.Code || !strings.Contains(process.Output(), start.Want) {
				t.Errorf("want exit code %d and %q, got %d:\n%s", start.Code, start.Want, code, process.Output())
			}
		})
	}
}

// Help checks that the help contains the parts common to all drivers and the given texts, such as names of variables.
func Help(t *testing.T, texts ...string) {
	t.Helper()
	process := Launch{Arguments: []string{"--help"}}.Start(t)
	if code := process.Exit(); code != 0 {
		t.Errorf("--help: exit code %d", code)
	}
	for _, want := range append(texts, "["+driverkit.EndpointVariable+"]", "--config", "--health-address") {
		if !strings.Contains(process.Output(), want) {
			t.Errorf("--help does not contain %s:\n%s", want, process.Output())
		}
	}
}
