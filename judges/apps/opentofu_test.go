// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// tofuModule is OpenTofu, whose backend for S3 locks the state with If-None-Match.
const tofuModule, tofuVersion = "github.com/opentofu/opentofu", "v1.12.6"

// tofuConfiguration has a resource that needs no provider.
const tofuConfiguration = `
terraform {
  backend "s3" {
    bucket         = "state"
    key            = "state"
    region         = %q
    endpoints      = { s3 = %[2]q, sts = %[2]q }
    use_path_style = true
    use_lockfile   = true
  }
}
variable "value" { type = string }
resource "terraform_data" "value" { input = var.value }
output "value" { value = terraform_data.value.output }
`

// TestOpenTofu keeps the state of OpenTofu in the fake, and changes it with a client that is killed while it holds the lock,
// with a client that does not receive the response to its lock, and with several clients at the same time.
func TestOpenTofu(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "TestLeases in judges/commits commits with the same conditions")
	o := newTofu(t)
	if out, err := o.run("init", "-no-color"); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	o.apply("first")

	o.fault(fault.Rule{Operation: "PutObject", Resource: "state/state", Effect: fault.Drop, Latency: fault.Duration(time.Hour)})
	before := o.locks()
	holder := o.command("apply", "-no-color", "-auto-approve", "-var=value=killed")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if err := controlplane.Until(t.Context(), func(context.Context) error {
		if o.locks() == before {
			return errors.New("the client has no lock yet")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	o.refused()
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // killed: always an error
	o.store.Faults.Clear()
	id := o.refused()
	o.output("first")
	o.unlock(id)
	o.apply("second")

	o.fault(fault.Rule{Operation: "PutObject", Resource: "state/state.tflock", Effect: fault.DropAfter, Times: 1})
	o.unlock(o.refused())
	o.output("second")
	o.apply("third")

	serial := o.serial()
	var wg sync.WaitGroup
	const clients = 4
	for n := range clients {
		wg.Go(func() {
			if out, err := o.run("apply", "-no-color", "-auto-approve", "-lock-timeout=5m", fmt.Sprintf("-var=value=%d", n)); err != nil {
				t.Errorf("client %d: %v\n%s", n, err, out)
			}
		})
	}
	wg.Wait()
	if got := o.serial(); got != serial+clients {
		t.Errorf("the serial number of the state is %d after %d changes of number %d", got, clients, serial)
	}
}

// A tofu is a working directory of OpenTofu.
type tofu struct {
	t            *testing.T
	program, dir string
	store        *s3fake.Server
}

func newTofu(t *testing.T) tofu {
	t.Helper()
	o := tofu{t: t, program: filepath.Join(t.TempDir(), "tofu"), dir: t.TempDir(), store: faketest.Start(t, s3fake.New, s3fake.Options{})}
	published{module: tofuModule + "@" + tofuVersion, main: tofuModule + "/cmd/tofu"}.build(t, o.program)
	err := o.store.Seed([]byte("buckets: [{name: state}]"))
	if err == nil {
		err = os.WriteFile(filepath.Join(o.dir, "main.tf"), fmt.Appendf(nil, tofuConfiguration, o.store.Region(), o.store.URL()), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o tofu) command(arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(o.t.Context(), o.program, arguments...)
	cmd.Dir = o.dir
	cmd.Env = []string{
		"HOME=" + o.dir, "CHECKPOINT_DISABLE=1", "AWS_ACCESS_KEY_ID=" + o.store.Root().AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + o.store.Root().SecretAccessKey,
	}
	processtest.BindToTest(cmd)
	return cmd
}

func (o tofu) run(arguments ...string) (string, error) {
	out, err := o.command(arguments...).CombinedOutput()
	return string(out), err
}

func (o tofu) apply(value string) {
	o.t.Helper()
	if out, err := o.run("apply", "-no-color", "-auto-approve", "-var=value="+value); err != nil {
		o.t.Fatalf("apply: %v\n%s", err, out)
	}
	o.output(value)
}

// refused requires that a client cannot get the lock, and returns the ID of the lock.
func (o tofu) refused() string {
	o.t.Helper()
	out, err := o.run("apply", "-no-color", "-auto-approve", "-var=value=refused")
	id := regexp.MustCompile(`(?m)^ {2}ID: +(\S+)`).FindStringSubmatch(out)
	if err == nil || len(id) == 0 || !strings.Contains(out, "Error acquiring the state lock") || !strings.Contains(out, "PreconditionFailed") {
		o.t.Fatalf("the client did not fail with PreconditionFailed for the lock: %v\n%s", err, out)
	}
	return id[1]
}

func (o tofu) unlock(id string) {
	o.t.Helper()
	if out, err := o.run("force-unlock", "-no-color", "-force", id); err != nil {
		o.t.Fatalf("unlock: %v\n%s", err, out)
	}
}

// output requires the value in the state.
func (o tofu) output(want string) {
	o.t.Helper()
	if out, err := o.run("output", "-no-color", "-raw", "value"); err != nil || out != want {
		o.t.Fatalf("the value in the state: %v\n%s, want %s", err, out, want)
	}
}

func (o tofu) serial() int {
	o.t.Helper()
	out, err := o.command("state", "pull").Output()
	var state struct{ Serial int }
	if err == nil {
		err = json.Unmarshal(out, &state)
	}
	if err != nil {
		o.t.Fatalf("the state: %v\n%s", err, out)
	}
	return state.Serial
}

func (o tofu) fault(rule fault.Rule) {
	o.t.Helper()
	if err := o.store.Faults.Set(fault.Plan{Rules: []fault.Rule{rule}}); err != nil {
		o.t.Fatal(err)
	}
}

// locks counts the locks of clients so far.
func (o tofu) locks() (n int) {
	for _, call := range o.store.Calls() {
		if call.Operation == "PutObject" && call.Resource == "state/state.tflock" && call.Status == http.StatusOK {
			n++
		}
	}
	return n
}
