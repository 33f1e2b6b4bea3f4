// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// kills is the number of points of each flow that the full tier tries with real processes. The soak tries
// all.
const kills = 2

// programs are the programs of controller, sidecar and adapter, built once.
var programs struct {
	sync.Once

	dir string
	err error
}

// build returns the directory of the programs.
func build(t *testing.T) string {
	t.Helper()
	programs.Do(func() {
		if programs.dir, programs.err = os.MkdirTemp("", "lifecycle-programs-"); programs.err != nil {
			return
		}
		command := exec.Command("go", "build", "-o", programs.dir, "./cmd/cosi-controller", "./cmd/cosi-sidecar", "./cmd/cosi-driver-adapter")
		command.Dir = ".."
		if output, err := command.CombinedOutput(); err != nil {
			programs.err = fmt.Errorf("build the programs: %w\n%s", err, output)
		}
	})
	if programs.err != nil {
		t.Fatal(programs.err)
	}
	return programs.dir
}

// TestKill replays crashes of each flow with real processes and SIGKILL.
func TestKill(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestCrash in processes")
	eachFlow(t, flowNames(), func(t *testing.T, f flow) {
		build(t)
		w := start(t, setup{leases: true, programs: true})
		w.newClass("fast")
		w.newAccessClass("keys", multiBucket)
		all := pointsOf(w.undisturbed(f))
		for _, p := range fulltest.Spread(beforeThenAfter(all), kills) {
			if !t.Run(p.String(), func(t *testing.T) { w.with(t).crash(f, p) }) {
				return
			}
		}
	})
}

// runProgram starts a program that reaches the API server through a proxy in this test, and stops it at the
// end of the test.
func (w *world) runProgram(p *process, config *rest.Config, arguments ...string) {
	w.t.Helper()
	onward, err := url.Parse(config.Host)
	w.must(err)
	through, err := rest.TransportFor(config) // it contains the transport of the process
	w.must(err)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(onward) },
		Transport:     through,
		FlushInterval: -1, // for watches
		ErrorLog:      w.log.writer(p.who),
	})
	number := w.next()
	kubeconfig := filepath.Join(w.sockets, fmt.Sprintf("kubeconfig-%d", number))
	w.must(controlplane.WriteKubeconfig(kubeconfig, &rest.Config{Host: server.URL}, w.namespace))
	if w.setup.scraped {
		p.metrics = freeport.ForTest(w.t).Address()
	}
	arguments = append(arguments, "--kubeconfig="+kubeconfig, "--metrics-address="+p.metrics, "--health-address=",
		"--leader-namespace="+w.namespace, "--namespaces="+w.namespace)
	command := exec.Command(filepath.Join(programs.dir, "cosi-"+p.who), arguments...)
	command.Stderr = w.log.writer(p.who).Writer()
	command.Stdout = command.Stderr
	command.SysProcAttr = diesWithUs()
	w.must(command.Start())
	p.cancel = func() { _ = command.Process.Signal(syscall.SIGTERM) } // it may have exited
	p.kill = func() { _ = command.Process.Kill() }
	go func() {
		err := command.Wait()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !p.killed() {
			p.err = err
		}
		server.CloseClientConnections()
		server.Close()
		close(p.ended)
	}()
}
