// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/internal/unixsocket"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// Variables that make the test binary act as a driver with the given store and defects, or as the command
// itself.
const (
	asCommand   = "SANITY_COMMAND"
	asDriver    = "MEMDRIVER_STORE"
	withDefects = "MEMDRIVER_DEFECTS"
)

func TestMain(m *testing.M) {
	if store := os.Getenv(asDriver); store != "" {
		os.Exit(serveDriver(store))
	}
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// serveDriver is the main function of a driver process whose store is a file.
func serveDriver(store string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM) //nolint:forbidigo // this is a main function
	defer stop()
	defects := memdriver.Defects{}
	for name := range strings.SplitSeq(os.Getenv(withDefects), ",") {
		defects[memdriver.Defect(name)] = true
	}
	directory, err := os.Getwd()
	if err != nil {
		return 1
	}
	driver := memdriver.Wide()
	driver.Store, driver.Defects = memdriver.NewStore(store), defects
	program := memdriver.Program{
		Driver:      driver,
		Environment: os.Environ(), Arguments: os.Args[1:], Directory: directory, Output: os.Stderr,
	}
	return program.Run(ctx)
}

// configured writes a configuration of the driver process and returns its path.
func configured(t *testing.T, defects ...memdriver.Defect) string {
	t.Helper()
	dir := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(defects))
	for i, defect := range defects {
		names[i] = string(defect)
	}
	path := filepath.Join(dir, "sanity.yaml")
	text := fmt.Sprintf(`command: [%q]
environment: {%s: %q, %s: %q}
parameters: {bucket: {tier: hot}, incompatible: {tier: cold}, invalid: {tier: lukewarm}, access: {note: made by a test}, invalidAccess: {note: invalid}}
authentication: [Key, ServiceAccount]
rotation: true
dataPlane: {disabled: true}
limits: {repeats: 3, names: 12, concurrency: 4, operations: 40, start: 20s}
`, program, asDriver, filepath.Join(dir, "store.json"), withDefects, strings.Join(names, ","))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func invoke(t *testing.T, arguments ...string) (code int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = command(t.Context(), arguments, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestADriverProcessPasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code, out, problems := invoke(t, "--config", configured(t), "--journal", filepath.Join(dir, "journal"),
		"--json", filepath.Join(dir, "report.json"), "--junit", filepath.Join(dir, "junit.xml"), "--fail-on", "advice")
	if code != exitConformant {
		t.Fatalf("want exit code 0, got %d\n%s\n%s", code, out, problems)
	}
	if !strings.Contains(out, "\nconformant: MUST ") || !strings.Contains(out, "passed         BKT-CRT-001") {
		t.Errorf("the output lacks progress or verdict:\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "journal")); err == nil {
		t.Error("the journal of a clean run is left")
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Conformant bool
		Cases      []struct{ ID, Outcome string }
	}
	if err := json.Unmarshal(text, &report); err != nil || !report.Conformant || len(report.Cases) != len(sanity.Cases()) {
		t.Errorf("the JSON report: %v, conformant %v, %d cases", err, report.Conformant, len(report.Cases))
	}
	if text, err = os.ReadFile(filepath.Join(dir, "junit.xml")); err != nil {
		t.Fatal(err)
	}
	var junit struct {
		Suites []struct {
			Tests int `xml:"tests,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &junit); err != nil || len(junit.Suites) != 3 || junit.Suites[0].Tests == 0 {
		t.Errorf("the JUnit report: %v, %+v", err, junit)
	}
}

func TestFailuresExplainThemselves(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		defect memdriver.Defect
		focus  string
		want   []string
	}{
		"a broken MUST": {
			defect: memdriver.MissingDeleteFails, focus: "^BKT-DEL-002$",
			want: []string{
				"failed         BKT-DEL-002", "DriverDeleteBucket must return OK, not Internal", "request:  {", "response: Internal",
				`"OK when OSP bucket already does not exist"`, "fix:           treat the backend's not-found as success", "not conformant: MUST 0/1",
			},
		},
		"a process that prints a secret": {
			defect: memdriver.LogsSecrets, focus: "^(UDS-013|UDS-001)$",
			want: []string{"failed         UDS-013", "the driver printed the value of the field", "SHOULD 0/1", "not conformant with --fail-on should: UDS-013 failed"},
		},
		"a file in the directory of the socket": {
			defect: memdriver.NeighbourFile, focus: "^UDS-006$", want: []string{`created "driver.lock" in the directory of its socket`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, problems := invoke(t, "--config", configured(t, tc.defect), "--focus", tc.focus, "--fail-on", "should")
			if code != exitNotConformant {
				t.Errorf("want exit code 1, got %d: %s", code, problems)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	taken := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		arguments []string
		code      int
		want      string
	}{
		"no target":                   {nil, exitUsage, "pass --endpoint, --exec, or --config"},
		"two targets":                 {[]string{"--endpoint", "unix:///x.sock", "--exec", "x"}, exitUsage, "--endpoint and --exec are mutually exclusive"},
		"an unknown flag":             {[]string{"--fokus", "x"}, exitUsage, "unknown flag"},
		"an argument":                 {[]string{"driver"}, exitUsage, `unexpected argument "driver"`},
		"a broken focus":              {[]string{"--exec", "x", "--focus", "("}, exitUsage, "--focus"},
		"a focus on nothing":          {[]string{"--exec", "x", "--focus", "NOSUCH"}, exitUsage, "--focus NOSUCH: no case ID matches; see --list"},
		"an unknown level":            {[]string{"--exec", "x", "--fail-on", "most"}, exitUsage, "must, should, advice"},
		"a TCP address":               {[]string{"--endpoint", "tcp://x"}, exitUsage, "only UNIX sockets"},
		"an unknown case":             {[]string{"--explain", "BKT-999"}, exitUsage, "--list"},
		"a journal that is taken":     {[]string{"--exec", "x", "--journal", taken}, exitUsage, "sweep it first"},
		"a program that is absent":    {[]string{"--exec", "no-such-driver", "--quiet"}, exitNotTested, ""},
		"a sweep of nothing":          {[]string{"sweep", "--exec", "x"}, exitUsage, "--journal"},
		"a strict driver on TCP":      {[]string{"serve-strict", "--endpoint", "tcp://x"}, exitUsage, "unix:///path/to/driver.sock"},
		"a store on TCP":              {[]string{"credential-store", "--endpoint", "tcp://x"}, exitUsage, "--endpoint"},
		"a store that is absent":      {[]string{"credential-store", "--endpoint", "unix:///no/such.sock"}, exitNotTested, "the store is unavailable"},
		"a missing configuration":     {[]string{"--config", "nowhere.yaml"}, exitUsage, "nowhere.yaml"},
		"Bucket objects for v1alpha2": {[]string{"--exec", "x", "--kubernetes-api-dir", "x"}, exitUsage, "--kubernetes-api-dir requires --contract v1alpha1"},
		"a public Kubernetes API": {
			[]string{"--exec", "x", "--contract", "v1alpha1", "--kubernetes-api-dir", "x", "--kubernetes-api-address", "0.0.0.0:6443"}, exitUsage, "is not a loopback IP address",
		},
		"help is no mistake": {[]string{"--help"}, exitConformant, "serve-strict"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, problems := invoke(t, tc.arguments...)
			if code != tc.code || !strings.Contains(problems, tc.want) {
				t.Errorf("want exit code %d and %q, got %d\n%s\n%s", tc.code, tc.want, code, out, problems)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	code, out, problems := invoke(t, "--version")
	if code != exitConformant || !strings.HasPrefix(out, "cosi-sanity ") {
		t.Errorf("exit code %d\n%s\n%s", code, out, problems)
	}
}

// TestUnavailableDriver verifies that the command reports at the start that it waits for the driver, and at the end
// that the wait timed out.
func TestUnavailableDriver(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sanity.yaml")
	if err := os.WriteFile(path, []byte("endpoint: unix://nothing\nlimits: {start: 10ms}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, problems := invoke(t, "--config", path)
	if code != exitNotTested || !strings.Contains(problems, "waiting for the driver at unix://nothing, at most 10ms") {
		t.Errorf("want exit code %d and the reason for waiting, got %d\n%s", exitNotTested, code, problems)
	}
	for _, want := range []string{"no process listens on unix://nothing after 10ms; check that the driver was started with this address", "no driver responded", "not tested: MUST 0/"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if lines := strings.Count(out, "\n"); lines > 10 {
		t.Errorf("%d lines about cases that did not run:\n%s", lines, out)
	}
}

func TestListAndExplain(t *testing.T) {
	t.Parallel()
	code, out, _ := invoke(t, "--list")
	if lines := strings.Count(out, "\n"); code != exitConformant || lines != len(sanity.Cases()) {
		t.Errorf("want a line for each of %d cases, got %d and exit code %d", len(sanity.Cases()), lines, code)
	}
	code, out, _ = invoke(t, "--explain", "acc-grt-020")
	if code != exitConformant || !strings.Contains(out, "why MUST: OK means granted") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestSweepOfAKilledRun(t *testing.T) {
	t.Parallel()
	// The test creates the bucket in place of the killed run. The driver must accept it.
	config, journal := configured(t, memdriver.DeletesForeign), filepath.Join(t.TempDir(), "journal")
	store := memdriver.NewStore(filepath.Join(filepath.Dir(config), "store.json"))
	if err := (memdriver.Outside{Store: store}).MakeBucket(t.Context(), "somebody-elses"); err != nil {
		t.Fatal(err)
	}
	line := `{"kind":"bucket","id":"cosi-sanity-x-1","request":{"bucketId":"cosi-sanity-x-1","parameters":{"tier":"hot"}}}` + "\n"
	if err := os.WriteFile(journal, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (memdriver.Outside{Store: store}).MakeBucket(t.Context(), "cosi-sanity-x-1"); err != nil {
		t.Fatal(err)
	}
	code, out, problems := invoke(t, "sweep", "--config", config, "--journal", journal)
	if code != exitConformant || !strings.Contains(out, "removed bucket cosi-sanity-x-1") {
		t.Fatalf("exit code %d\n%s\n%s", code, out, problems)
	}
	left, err := store.Inventory()
	if err != nil || len(left) != 1 || left[0].Name != "somebody-elses" {
		t.Errorf("want only the other owner's bucket left, got %v, %v", left, err)
	}
}

// TestAStoreThatDoesNothing verifies that each failing case is reported with the sentence of the contract.
func TestAStoreThatDoesNothing(t *testing.T) {
	t.Parallel()
	endpoint := "unix://" + filepath.Join(processtest.ShortTempDir(t), "credentials.sock")
	listener, err := unixsocket.Listen(t.Context(), endpoint, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	cosi.RegisterCredentialStoreServer(server, cosi.UnimplementedCredentialStoreServer{})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	code, out, problems := invoke(t, "credential-store", "--endpoint", endpoint)
	if code != exitNotConformant || problems != "" {
		t.Errorf("want exit code %d, got %d\n%s", exitNotConformant, code, problems)
	}
	for _, want := range []string{"FAILED CST-GET-001 returns NOT_FOUND for a missing entry\n  contract: NOT_FOUND: there is no entry.\n", "not conformant: MUST 0/12"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
