// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// The users that controller, sidecar and the bare client of the floors act as.
const (
	controllerUser = "bench-controller"
	sidecarUser    = "bench-sidecar"
	bareUser       = "bench-bare"
	namespace      = "bench"
)

// grace is how long a process may take to end.
const grace = 40 * time.Second

// A system is all processes of a bench.
type system struct {
	controlPlane *controlplane.ControlPlane
	client       client.WithWatch
	bare         client.Client // with the rights that controller and sidecar have
	dir          string
	programs     map[string]*exec.Cmd
	order        []string
	// used is the CPU time of the programs that ended, and of the build.
	used time.Duration
}

// start starts everything. After an error, stop ends what was started.
func start(ctx context.Context) (*system, error) {
	s := &system{programs: map[string]*exec.Cmd{}}
	var err error
	if s.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return s, fmt.Errorf("directory: %w", err)
	}
	crds, err := deploy.CRDs()
	if err != nil {
		return s, err
	}
	if s.controlPlane, err = controlplane.Start(ctx, controlplane.Options{CRDs: crds, Audit: true}); err != nil {
		return s, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cosiapi.AddToScheme(scheme)); err != nil {
		return s, fmt.Errorf("scheme: %w", err)
	}
	config := s.controlPlane.Config()
	config.QPS = -1
	if s.client, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return s, fmt.Errorf("client: %w", err)
	}
	if err := s.allow(ctx); err != nil {
		return s, err
	}
	if config, err = s.controlPlane.User(bareUser); err != nil {
		return s, err
	}
	config.QPS = -1
	if s.bare, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return s, fmt.Errorf("bare client: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", s.dir, "./cmd/cosi-controller", "./cmd/cosi-sidecar")
	if output, err := build.CombinedOutput(); err != nil {
		return s, fmt.Errorf("build the programs (run the bench in the root of the repository): %w\n%s", err, output)
	}
	s.used += build.ProcessState.UserTime() + build.ProcessState.SystemTime()
	return s, s.run()
}

func (s *system) run() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own program: %w", err)
	}
	if err := s.launch("driver", self, "-serve-driver="+s.socket()); err != nil {
		return err
	}
	if err := s.launchAs(controllerUser, "controller", filepath.Join(s.dir, "cosi-controller"), "--metrics-address="); err != nil {
		return err
	}
	return s.launchSidecar("")
}

func (s *system) socket() string { return "unix://" + filepath.Join(s.dir, "driver.sock") }

func (s *system) launchSidecar(metrics string) error {
	return s.launchAs(sidecarUser, "sidecar", filepath.Join(s.dir, "cosi-sidecar"),
		"--driver-address="+s.socket(), "--owner=bench/driver", "--metrics-address="+metrics)
}

// launchAs starts a program that reaches the API server as a user.
func (s *system) launchAs(user, name, path string, arguments ...string) error {
	config, err := s.controlPlane.User(user)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(s.dir, user)
	if err := controlplane.WriteKubeconfig(kubeconfig, config, namespace); err != nil {
		return err
	}
	return s.launch(name, path, append(arguments, "--kubeconfig="+kubeconfig, "--health-address=")...)
}

func (s *system) launch(name, path string, arguments ...string) error {
	log, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("log of the %s: %w", name, err)
	}
	command := exec.Command(path, arguments...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the %s: %w", name, err)
	}
	s.programs[name] = command
	s.order = append(s.order, name)
	return nil
}

// end stops a program and prints what it used.
func (s *system) end(name string) error {
	command := s.programs[name]
	delete(s.programs, name)
	if command == nil {
		return nil
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the %s: %w", name, err)
	}
	late := time.AfterFunc(grace, func() { _ = command.Process.Kill() })
	defer late.Stop()
	err := command.Wait()
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cpu := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		s.used += cpu
		fmt.Printf("%s: %v CPU, %d MiB at most\n", name, cpu.Round(roundTo), usage.Maxrss/1024)
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, name+".log")) // the first error counts
		return fmt.Errorf("the %s failed: %w\n%s", name, err, log[max(0, len(log)-2000):])
	}
	return nil
}

// stop ends all, the last first.
func (s *system) stop() error {
	var errs []error
	for _, v := range slices.Backward(s.order) {
		errs = append(errs, s.end(v))
	}
	if s.controlPlane != nil {
		errs = append(errs, s.controlPlane.Stop())
	}
	printRest(s.used)
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// printRest prints the CPU time of the processes that ended and were not
// printed by themselves: the control plane.
func printRest(printed time.Duration) {
	var all syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &all); err != nil {
		return
	}
	total := time.Duration(all.Utime.Nano() + all.Stime.Nano())
	fmt.Printf("control plane: %v CPU\n", (total - printed).Round(roundTo))
}

// allow creates the roles as deployed, and binds them.
func (s *system) allow(ctx context.Context) error {
	for _, name := range []string{namespace, deploy.SystemNamespace} {
		if err := s.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	manifests, err := deploy.RBAC()
	if err != nil {
		return err
	}
	if manifests["driver"], err = deploy.DriverLease(driverName); err != nil {
		return err
	}
	for _, manifest := range manifests {
		if err := s.createAll(ctx, manifest); err != nil {
			return err
		}
	}
	return errors.Join(
		s.bind(ctx, controllerUser, deploy.ControllerRole, deploy.ControllerLeaderRole),
		s.bind(ctx, sidecarUser, deploy.SidecarRole, deploy.DriverLeaderRole(driverName)),
		s.bind(ctx, bareUser, deploy.ControllerRole, ""), s.bind(ctx, bareUser, deploy.SidecarRole, ""),
		// What the controller may do with claims, for the Buckets that stand for claims in the floor.
		s.create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: bareUser},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{cosiapi.GroupName}, Resources: []string{"buckets", "buckets/status"}, Verbs: []string{"update"}}},
		}),
		s.bind(ctx, bareUser, bareUser, ""))
}

// createAll creates the objects of a file with several YAML documents.
func (s *system) createAll(ctx context.Context, manifest []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), len(manifest))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("roles: %w", err)
		}
		if err := s.create(ctx, object); err != nil {
			return err
		}
	}
}

// bind gives a user a role for all namespaces, and one for the system namespace
// unless that is empty.
func (s *system) bind(ctx context.Context, user, clusterRole, role string) error {
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	err := s.create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + clusterRole}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
	})
	if err != nil || role == "" {
		return err
	}
	return s.create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: deploy.SystemNamespace}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	})
}

func (s *system) create(ctx context.Context, object client.Object) error {
	if err := s.client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
	}
	return nil
}
