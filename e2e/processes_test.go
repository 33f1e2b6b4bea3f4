// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/system"
)

const (
	rootKey    = "AKIACOOPERPROCESSES0"
	rootSecret = "only-for-tests-on-this-machine"
	accountKey = "b25seSBmb3IgdGVzdHMgb24gdGhpcyBtYWNoaW5l"
)

// asProcesses returns a system in which every component is a process, with the programs of the images.
func asProcesses(t *testing.T) *world {
	t.Helper()
	fulltest.Only(t, "the same in processes, for which six programs are linked")
	return processesOn(t, clouds(), (*bench).fakes, "cooper")
}

// asProcessesOnCeph is asProcesses with the driver of one cloud and a Ceph.
func asProcessesOnCeph(t *testing.T) *world {
	t.Helper()
	fulltest.Only(t, "the same in processes, on a Ceph")
	return processesOn(t, clouds()[:1], (*bench).ceph)
}

// processesOn starts a system with the drivers of these clouds and the given programs. stores starts the
// stores and returns the URL of Cloud Storage.
func processesOn(t *testing.T, having []cloud, stores func(*bench) string, programs ...string) *world {
	t.Helper()
	programs = append(programs, "cosi-controller", "cosi-sidecar")
	var drivers []string
	for _, c := range having {
		programs, drivers = append(programs, "cosi-driver-"+strings.ToLower(c.name)), append(drivers, c.driver)
	}
	b := newBench(t, programs...)
	env := testenv.Start(t, testenv.Options{Private: true})
	watch := newHygiene(t)
	b.collector = watch.collector
	t.Cleanup(func() { watch.search(t, b.processes, env.Client) }) // when all processes have ended
	accounts, err := system.Install(t.Context(), env.ControlPlane, drivers...)
	if err != nil {
		t.Fatal(err)
	}
	keepCredentials(t, env, drivers...)
	gcs := stores(b)
	watch.secrets["the secret key of the S3 driver"] = b.secret
	parts := map[string]*process{"controller": b.component("cosi-controller", accounts.Controller)}
	for _, c := range having {
		parts["driver "+c.name] = b.driver(c, gcs)
		parts["sidecar "+c.name] = b.component("cosi-sidecar", accounts.Sidecars[c.driver], "COOPER_DRIVER_ADDRESS="+b.socket(c), "COOPER_OWNER=processes/"+c.name,
			"COOPER_CREDENTIAL_STORE_ADDRESS="+b.credentials(c), "COOPER_CREDENTIAL_STORE_NAMESPACE="+deploy.SystemNamespace)
	}
	for _, part := range parts {
		part.awaitReady()
	}
	return &world{client: env.Client, clouds: having, gcs: gcs, watch: watch, restart: func(t *testing.T, part string, c cloud) {
		t.Helper()
		if part != "controller" {
			part += " " + c.name
		}
		parts[part].kill()
		parts[part].start()
		parts[part].awaitReady()
	}}
}

// keepCredentials lets the drivers' sidecars maintain credential stores in their accounts' namespaces, as
// deploy/ does.
func keepCredentials(t *testing.T, env *testenv.Env, drivers ...string) {
	t.Helper()
	manifest, err := deploy.DriverCredentials(deploy.SystemNamespace)
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{}
	if err := yaml.Unmarshal(manifest, role); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: role.Namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
	}
	for _, driver := range drivers {
		user := "system:serviceaccount:" + deploy.SystemNamespace + ":" + deploy.SidecarRole + "-" + driver
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user})
	}
	for _, object := range []client.Object{role, binding} {
		if err := env.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// A bench builds and starts processes.
type bench struct {
	t   *testing.T
	dir string
	// s3 are the S3 driver's environment variables for its store, and secret is one of them. azure is the
	// address of the Azure store.
	s3            []string
	secret, azure string
	// collector is the URL of the trace collector for components and drivers.
	collector string
	// processes are all processes that were started.
	processes []*process
}

// newBench builds programs with the same options as hack/images, so that compiled packages are shared.
func newBench(t *testing.T, programs ...string) *bench {
	t.Helper()
	dir := processtest.ShortTempDir(t)
	arguments := []string{"build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", dir + "/"}
	for _, program := range programs {
		arguments = append(arguments, "./cmd/"+program)
	}
	cmd := exec.CommandContext(t.Context(), "go", arguments...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return &bench{t: t, dir: dir}
}

func (b *bench) socket(c cloud) string { return "unix://" + filepath.Join(b.dir, c.name+".sock") }

// credentials returns the address at which a cloud's sidecar serves the credential store.
func (b *bench) credentials(c cloud) string {
	return "unix://" + filepath.Join(b.dir, c.name+"-credentials.sock")
}

// fakes starts Cooper's fakes and returns the URL of Cloud Storage.
func (b *bench) fakes() string {
	b.t.Helper()
	s3, gcs := freeport.ForTest(b.t).Address(), "http://"+freeport.ForTest(b.t).Address()
	b.azure = freeport.ForTest(b.t).Address()
	for _, p := range []*process{
		{arguments: []string{"fakes", "s3", "--listen=" + s3}, environment: []string{"COOPER_ROOT_ACCESS_KEY_ID=" + rootKey, "COOPER_ROOT_SECRET_ACCESS_KEY=" + rootSecret}, ready: "http://" + s3 + "/_cooper/health"},
		{arguments: []string{"fakes", "azure", "--listen=" + b.azure}, environment: []string{"COOPER_KEY=" + accountKey}, ready: "http://" + b.azure + "/_cooper/health"},
		{arguments: []string{"fakes", "gcs", "--listen=" + strings.TrimPrefix(gcs, "http://"), "--key-file=" + filepath.Join(b.dir, "admin.json")}, ready: gcs + "/_cooper/health"},
	} {
		p.program = "cooper"
		b.run(p)
		p.awaitReady()
	}
	b.atStore(s3driver.TypeAWS, "http://"+s3, rootKey, rootSecret)
	return gcs
}

// ceph starts a Ceph. It returns no URL of Cloud Storage.
func (b *bench) ceph() string {
	b.t.Helper()
	ceph, user := cephWithUser(b.t)
	b.atStore(s3driver.TypeRGW, ceph.URL(), user.AccessKey, user.SecretKey)
	return ""
}

func (b *bench) atStore(kind s3driver.BackendType, endpoint, id, secret string) {
	b.secret = secret
	b.s3 = []string{"S3_DRIVER_TYPE=" + string(kind), "S3_DRIVER_ENDPOINT=" + endpoint, "S3_DRIVER_ACCESS_KEY_ID=" + id, "S3_DRIVER_SECRET_ACCESS_KEY=" + secret}
}

// driver starts the driver of a cloud.
func (b *bench) driver(c cloud, gcs string) *process {
	b.t.Helper()
	short := strings.ToLower(c.name)
	variables := map[string][]string{
		"s3": append([]string{"S3_DRIVER_NAME=" + c.driver}, b.s3...),
		"azure": {
			"AZURE_DRIVER_NAME=" + c.driver, "AZURE_DRIVER_ENDPOINT=http://" + b.azure,
			"AZURE_DRIVER_ACCOUNT=" + azurefake.DefaultAccount, "AZURE_DRIVER_ACCOUNT_KEY=" + accountKey,
		},
		"gcs": {
			"GCS_DRIVER_NAME=" + c.driver, "GCS_DRIVER_ENDPOINT=" + gcs,
			"GCS_DRIVER_PROJECT=" + gcsfake.DefaultProject, "GCS_DRIVER_CREDENTIALS_FILE=" + filepath.Join(b.dir, "admin.json"),
		},
	}
	health := freeport.ForTest(b.t).Address()
	return b.run(&process{
		program: "cosi-driver-" + short, ready: "http://" + health + "/readyz",
		environment: append(append(variables[short], b.talkative()...), "COSI_ENDPOINT="+b.socket(c), "COOPER_HEALTH_ADDRESS="+health, "COOPER_CREDENTIAL_STORE=sidecar:"+b.credentials(c)),
	})
}

// talkative returns the settings for full logging and traces.
func (b *bench) talkative() []string {
	return []string{"COOPER_LOG_LEVEL=debug", "COOPER_TRACES_ENDPOINT=" + b.collector, "OTEL_BSP_SCHEDULE_DELAY=500"}
}

// component starts the controller or a sidecar as a user of the API server.
func (b *bench) component(program string, user *rest.Config, variables ...string) *process {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(file, user, "default"); err != nil {
		b.t.Fatal(err)
	}
	health := freeport.ForTest(b.t).Address()
	return b.run(&process{
		program: program, ready: "http://" + health + "/readyz",
		environment: append(append(variables, b.talkative()...), "KUBECONFIG="+file, "COOPER_HEALTH_ADDRESS="+health, "COOPER_METRICS_ADDRESS=127.0.0.1:0"),
	})
}

// A process is a program with arguments and environment that can be killed and restarted.
type process struct {
	program     string
	arguments   []string
	environment []string
	ready       string // a URL that returns 200 once it is ready

	bench   *bench
	command *exec.Cmd
	output  bytes.Buffer
}

// run starts a process, which is stopped at the end of the test.
func (b *bench) run(p *process) *process {
	b.t.Helper()
	p.bench = b
	b.processes = append(b.processes, p)
	p.start()
	b.t.Cleanup(func() {
		p.kill()
		if b.t.Failed() {
			b.t.Logf("the last log lines of %s:\n%s", p.program, p.output.String()[max(0, p.output.Len()-2000):])
		}
	})
	return p
}

func (p *process) start() {
	p.bench.t.Helper()
	p.command = exec.Command(filepath.Join(p.bench.dir, p.program), p.arguments...)
	p.command.Env = append([]string{"HOME=" + p.bench.dir, "TMPDIR=" + p.bench.dir, "COOPER_CI_MARK=" + os.Getenv("COOPER_CI_MARK")}, p.environment...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	processtest.BindToTest(p.command)
	if err := p.command.Start(); err != nil {
		p.bench.t.Fatal(err)
	}
}

// kill kills the process with SIGKILL.
func (p *process) kill() {
	_ = p.command.Process.Kill() // it may have exited
	_ = p.command.Wait()         // always an error after a kill
}

func (p *process) awaitReady() {
	p.bench.t.Helper()
	ctx, cancel := context.WithTimeout(p.bench.t.Context(), waitTimeout)
	defer cancel()
	err := controlplane.Until(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s returns %s", p.ready, response.Status)
		}
		return nil
	})
	if err != nil {
		p.bench.t.Fatalf("%s does not work: %v", p.program, err)
	}
}
