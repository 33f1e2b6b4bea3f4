// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// user is the component that creates and deletes claims and accesses.
	user = "user"
	// bareUser makes the writes of the floor.
	bareUser  = "bench-floor"
	namespace = "bench"
	// grace is how long a process may take to stop.
	grace = 40 * time.Second
)

// A system is the set of processes in a bench.
type system struct {
	what         implementation
	controlPlane *controlplane.ControlPlane
	client       client.WithWatch // of the user
	bare         client.Client
	kinds        map[kind]schema.GroupVersionKind
	dir          string
	drivers      []driver
	programs     []*program
	ledger       ledger
	made         int // pairs in all steps; names are not reused, because the old object may still exist
}

// A program is a line of the commands, for one driver if it is specific to drivers.
type program struct {
	role, name string
	arguments  []string
	health     string  // address of its readiness endpoint; empty if it has none
	of         *driver // nil if it serves all drivers
	running    *exec.Cmd
}

// user returns the user name of the program at the API server.
func (p *program) user() string { return "bench-" + p.name }

// start starts everything. After an error, the caller must still call stop.
func start(ctx context.Context, what implementation, drivers func(dir string) []driver) (*system, error) {
	s := &system{what: what, kinds: map[kind]schema.GroupVersionKind{}}
	var err error
	if s.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return s, fmt.Errorf("create a directory: %w", err)
	}
	s.drivers = drivers(s.dir)
	for _, k := range []kind{claim, access} {
		object, err := s.object(k, pair{})
		if err != nil {
			return s, err
		}
		s.kinds[k] = object.GroupVersionKind()
	}
	if err := s.build(ctx); err != nil {
		return s, err
	}
	if err := s.startControlPlane(ctx); err != nil {
		return s, err
	}
	if err := s.plan(); err != nil {
		return s, err
	}
	for _, name := range []string{namespace, floorNamespace, deploy.SystemNamespace} {
		if err := s.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return s, err
		}
	}
	if err := s.allow(ctx); err != nil {
		return s, err
	}
	for _, p := range s.programs {
		if err := s.launch(p); err != nil {
			return s, err
		}
	}
	return s, s.prepare(ctx)
}

// build builds Cooper's programs. Those of other implementations must exist.
func (s *system) build(ctx context.Context) error {
	if s.what.dir != "" {
		return nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.dir, "./cmd/cosi-controller", "./cmd/cosi-sidecar", "./bench/drivers")
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs (run the bench in the root of the repository): %w\n%s", err, output)
	}
	return nil
}

func (s *system) startControlPlane(ctx context.Context) error {
	crds, err := floorCRDs()
	if err != nil {
		return err
	}
	maps.Copy(crds, s.what.crds)
	if s.controlPlane, err = controlplane.Start(ctx, controlplane.Options{CRDs: crds, Audit: true}); err != nil {
		return err
	}
	config, err := s.controlPlane.User("bench-"+user, "system:masters")
	if err != nil {
		return err
	}
	if s.client, err = client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return fmt.Errorf("create the client: %w", err)
	}
	scheme, err := floorScheme()
	if err != nil {
		return err
	}
	if config, err = s.controlPlane.User(bareUser); err != nil {
		return err
	}
	if s.bare, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("create the client for the floor: %w", err)
	}
	return nil
}

// plan creates programs from the commands.
func (s *system) plan() error {
	for _, c := range s.what.commands {
		drivers := []*driver{nil}
		if strings.Contains(c.line, "${SOCKET}") || strings.Contains(c.line, "${SERVE}") {
			drivers = nil
			for i := range s.drivers {
				drivers = append(drivers, &s.drivers[i])
			}
		}
		for i, d := range drivers {
			p := &program{role: c.role, name: c.role, of: d}
			if i > 0 {
				p.name += fmt.Sprintf("-%d", i+1)
			}
			if err := s.complete(p, c.line); err != nil {
				return err
			}
			s.programs = append(s.programs, p)
		}
	}
	return nil
}

// complete sets a program's arguments and writes its kubeconfig.
func (s *system) complete(p *program, line string) error {
	with := values{"BIN": s.dir, "DIR": s.what.dir, "KUBECONFIG": filepath.Join(s.dir, p.name+".kubeconfig")}
	if p.of != nil {
		maps.Copy(with, values{"SOCKET": p.of.socket, "DRIVER": p.of.name, "SERVE": p.of.serve})
	}
	if strings.Contains(line, "${HEALTH}") {
		port, err := freeport.Reserve()
		if err != nil {
			return err
		}
		p.health = port.Address()
		with["HEALTH"] = p.health
	}
	p.arguments = strings.Fields(with.expand(line))
	var groups []string
	if s.what.dir != "" {
		groups = []string{"system:masters"}
	}
	config, err := s.controlPlane.User(p.user(), groups...)
	if err != nil {
		return err
	}
	return controlplane.WriteKubeconfig(with["KUBECONFIG"], config, namespace)
}

func (s *system) launch(p *program) error {
	log, err := os.OpenFile(filepath.Join(s.dir, p.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the %s: %w", p.name, err)
	}
	command := exec.Command(p.arguments[0], p.arguments[1:]...)
	command.Stdout, command.Stderr = log, log
	err = errors.Join(command.Start(), log.Close())
	if err != nil {
		return fmt.Errorf("start the %s: %w", p.name, err)
	}
	p.running = command
	return nil
}

// end stops a program.
func (s *system) end(p *program) error {
	command := p.running
	if p.running = nil; command == nil {
		return nil
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the %s: %w", p.name, err)
	}
	late := time.AfterFunc(grace, func() { _ = command.Process.Kill() })
	defer late.Stop()
	if err := command.Wait(); err != nil && s.what.dir == "" {
		log, _ := os.ReadFile(filepath.Join(s.dir, p.name+".log")) // the first error takes precedence
		return fmt.Errorf("the %s failed: %w\n%s", p.name, err, log[max(0, len(log)-2000):])
	}
	return nil
}

// stop stops everything in reverse order.
func (s *system) stop() error {
	var errs []error
	for _, p := range slices.Backward(s.programs) {
		errs = append(errs, s.end(p))
	}
	if s.controlPlane != nil {
		errs = append(errs, s.controlPlane.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// prepare creates the classes and waits until a first pair of each driver has been provisioned.
func (s *system) prepare(ctx context.Context) error {
	for _, d := range s.drivers {
		if err := s.createClasses(ctx, d.class, d.name, "{}"); err != nil {
			return err
		}
	}
	pairs := newPairs(len(s.drivers), "warm", s.drivers, namespace)
	for _, m := range s.what.moves {
		if _, err := s.do(ctx, m, pairs, true); err != nil {
			return err
		}
	}
	return nil
}

func (s *system) createClasses(ctx context.Context, class, driver, parameters string) error {
	objects, err := values{"CLASS": class, "DRIVER": driver, "PARAMETERS": parameters}.objects(s.what.classes)
	if err != nil {
		return fmt.Errorf("read classes.yaml: %w", err)
	}
	for _, object := range objects {
		if err := s.create(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// newPairs returns n pairs that use drivers and namespaces in turn.
func newPairs(n int, prefix string, drivers []driver, namespaces ...string) []pair {
	all := make([]pair, n)
	for i := range all {
		d := drivers[i%len(drivers)]
		all[i] = pair{
			namespace: namespaces[i/len(drivers)%len(namespaces)], name: fmt.Sprintf("%s-%d", prefix, i), class: d.class, protocol: d.protocol,
		}
	}
	return all
}

// roles returns the components by user name.
func (s *system) roles() map[string]string {
	roles := map[string]string{"bench-" + user: user}
	for _, p := range s.programs {
		roles[p.user()] = p.role
	}
	return roles
}

func (s *system) create(ctx context.Context, object client.Object) error {
	if err := s.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	return nil
}
