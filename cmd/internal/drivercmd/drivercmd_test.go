// SPDX-License-Identifier: Apache-2.0

package drivercmd_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"

	"github.com/cooper-cosi/cooper/cmd/internal/drivercmd"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	"github.com/cooper-cosi/cooper/drivers/settings"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/upstream"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(func() { os.Exit(drivercmd.Main(program(), os.Args[1:], os.Stdout, os.Stderr)) })
	os.Exit(m.Run())
}

// driver is a driver whose backend fails while a file exists.
type driver struct {
	driverkit.Driver

	outage string
}

func (driver) Info() driverkit.Info {
	return driverkit.Info{Name: "files.example.com", Protocols: []driverkit.Protocol{driverkit.S3}}
}

func (d driver) CheckBackend(context.Context) error {
	if _, err := os.Stat(d.outage); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.New("the disk is on fire")
}

// nothing is a configuration without fields.
type nothing = struct{}

func program() drivercmd.Program[nothing, nothing] {
	d := driver{}
	return drivercmd.Program[nothing, nothing]{
		Name: "cosi-driver-files", Short: "a driver for files",
		Format: settings.Format[nothing, nothing]{
			Backend:   "disk",
			Variables: []settings.Variable[nothing, nothing]{{Name: "FILES_SIZE", Description: "And that is all."}},
			Single:    func(*nothing, nothing) error { return nil },
			Complete:  func(nothing) (nothing, error) { return nothing{}, nil },
			Reach: func(nothing) map[string]settings.Reach {
				return map[string]settings.Reach{"main": {Endpoints: map[string]string{"endpoint": "http://127.0.0.1:9000"}}}
			},
		},
		Flags: func(f *pflag.FlagSet) { f.StringVar(&d.outage, "outage", "", "file that stands for an outage") },
		New: func(_ context.Context, _ nothing, o *driverkit.Options) (driverkit.Driver, error) {
			if d.outage == "" {
				return nil, errors.New("it does not know its outage")
			}
			o.Logger.Info("made")
			return d, nil
		},
	}
}

func TestADriverServes(t *testing.T) {
	t.Parallel()
	outage := t.TempDir() + "/outage"
	for name, tc := range map[string]struct {
		outage string
		code   int
		ready  string
	}{
		"a backend that responds":         {outage, http.StatusOK, "ok\n"},
		"a backend that does not respond": {t.TempDir(), http.StatusServiceUnavailable, "the backend does not respond"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint, health, metrics := drivertest.Endpoint(t), freeport.ForTest(t).Address(), freeport.ForTest(t).Address()
			process := processtest.StartProgram(t, []string{
				"COSI_ENDPOINT=" + endpoint, "COOPER_OUTAGE=" + tc.outage, "COOPER_HEALTH_ADDRESS=" + health, "COOPER_LOG_FORMAT=json",
			}, "--metrics-address="+metrics)
			process.AwaitPage("http://"+health+"/healthz", http.StatusOK, "ok\n")
			process.AwaitPage("http://"+health+"/readyz", tc.code, tc.ready)
			if _, err := drivertest.Dial(t, endpoint).DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
				t.Error(err)
			}
			process.AwaitPage("http://"+metrics+"/metrics", http.StatusOK, `driver_name="files.example.com"`)
			process.Terminate()
			if code := process.Exit(); code != 0 {
				t.Errorf("after SIGTERM: exit code %d", code)
			}
			if _, err := os.Stat(strings.TrimPrefix(endpoint, "unix://")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is left: %v", err)
			}
			if got := process.Output(); !strings.Contains(got, `"msg":"made"`) {
				t.Errorf("the log is not JSON:\n%s", got)
			} else if !strings.Contains(got, `endpoint without TLS`) || !strings.Contains(got, `"endpoint":"http://127.0.0.1:9000"`) {
				t.Errorf("the log has no warning about the endpoint without TLS:\n%s", got)
			}
		})
	}
}

func TestADriverServesOtherGenerations(t *testing.T) {
	t.Parallel()
	endpoint, second := drivertest.Endpoint(t), drivertest.Endpoint(t)
	process := processtest.StartProgram(t, []string{"COSI_ENDPOINT=" + endpoint, "COOPER_OUTAGE=" + t.TempDir() + "/outage"}, "--v1alpha1", "--upstream-endpoint="+second)
	if _, err := v1alpha1.NewIdentityClient(drivertest.Dial(t, endpoint).Conn).DriverGetInfo(t.Context(), &v1alpha1.DriverGetInfoRequest{}); err != nil {
		t.Error(err)
	}
	_, err := upstream.NewClient(drivertest.Dial(t, second).Conn).DriverDeleteBucket(t.Context(), &cosi.DriverDeleteBucketRequest{})
	drivertest.WantCode(t, err, codes.InvalidArgument, "bucket_id is required")
	process.Terminate()
	if code := process.Exit(); code != 0 {
		t.Errorf("after SIGTERM: exit code %d", code)
	}
}

func TestADriverEnds(t *testing.T) {
	t.Parallel()
	busy := processtest.BusyAddress(t)
	for name, tc := range map[string]struct {
		arguments []string
		code      int
		want      string
	}{
		"help":                        {[]string{"--help"}, 0, "cosi-driver-files: a driver for files"},
		"the notes of the help":       {[]string{"--help"}, 0, "And that is all."},
		"the variable of a flag":      {[]string{"--help"}, 0, "[COSI_ENDPOINT]"},
		"version":                     {[]string{"--version"}, 0, "cosi-driver-files "},
		"a driver that cannot be":     {nil, 1, "cosi-driver-files: it does not know its outage"},
		"an endpoint that cannot be":  {[]string{"--endpoint=unix://a.sock"}, 2, `--endpoint or COSI_ENDPOINT: "unix://a.sock" has no absolute path`},
		"an endpoint of another kind": {[]string{"--endpoint=tcp://127.0.0.1:1"}, 2, `--endpoint or COSI_ENDPOINT: "tcp://127.0.0.1:1" is not a UNIX socket address; use unix:///`},
		"two sockets in a directory":  {[]string{"--outage=x", "--endpoint=unix:///x/a.sock", "--upstream-endpoint=unix:///x/b.sock"}, 1, "use a separate directory"},
		"an argument that is none":    {[]string{"start"}, 2, `unexpected argument "start"; see --help`},
		"an unknown log level":        {[]string{"--log-level=loud"}, 2, "debug, info, warn, error"},
		"an unknown log format":       {[]string{"--log-format=xml"}, 2, "text, json"},
		"a busy port for metrics":     {[]string{"--outage=x", "--metrics-address=" + busy}, 1, "listen for metrics over HTTP: listen tcp " + busy},
		"a busy port for health":      {[]string{"--outage=x", "--health-address=" + busy}, 1, "listen for health over HTTP: listen tcp " + busy},
		"an address that is no place": {[]string{"--outage=x", "--health-address=nowhere"}, 1, "listen for health over HTTP: listen tcp: address nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := processtest.StartProgram(t, []string{"COSI_ENDPOINT=" + drivertest.Endpoint(t)}, tc.arguments...)
			if code := process.Exit(); code != tc.code || !strings.Contains(process.Output(), tc.want) {
				t.Errorf("want exit code %d and %q, got %d:\n%s", tc.code, tc.want, code, process.Output())
			}
		})
	}
}

// TestCertificateAuthoritiesComeWithTheProgram runs in a process without system certificates, as in Cooper's
// images.
func TestCertificateAuthoritiesComeWithTheProgram(t *testing.T) {
	t.Parallel()
	if os.Getenv("SSL_CERT_FILE") == "/nowhere" {
		pool, err := x509.SystemCertPool()
		if err != nil || pool.Equal(x509.NewCertPool()) {
			t.Errorf("there are no certificate authorities: %v", err)
		}
		return
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), executable, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = []string{"SSL_CERT_FILE=/nowhere", "SSL_CERT_DIR=/nowhere"}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}
