// SPDX-License-Identifier: Apache-2.0

// Package up runs a complete COSI system on a laptop for `cooper up`: a control plane, the controller and,
// for each cloud, a fake store, a driver and a sidecar. All of them run in this process, except for the
// control plane. The package also applies a sample and prints how to use the system.
package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/sample"
	"github.com/cooper-cosi/cooper/cmd/internal/apiserver"
	"github.com/cooper-cosi/cooper/cmd/internal/crds"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
	"github.com/cooper-cosi/cooper/testenv/system"
)

// Options configure the system.
type Options struct {
	// Dir is the directory of the system's files.
	Dir rundir.Dir
	// Keep preserves the state in Dir between runs. Otherwise every run starts empty.
	Keep bool
	// APIPort, S3Port, AzurePort, GCSPort and PagePort are TCP ports on 127.0.0.1; 0 means a free port.
	APIPort, S3Port, AzurePort, GCSPort, PagePort int
	// Manifests are the sample: the *.yaml files in the root. Nil applies none.
	Manifests fs.FS
	// Namespace is the namespace of sample objects that do not name one.
	Namespace string
	// SampleTimeout limits the time until the sample is provisioned.
	SampleTimeout time.Duration
	// ReplaceCRDs allows Cooper's CRDs to replace foreign CRDs in the preserved state.
	ReplaceCRDs bool
	// Out receives the report, Progress a short line for each completed step.
	Out, Progress io.Writer

	// tracer receives the spans that the page shows.
	tracer trace.TracerProvider
}

// Run starts the system, prints the report, and runs until ctx ends, which is not an error. It stops
// everything before it returns.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	lease, err := o.Dir.Acquire()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	documents, err := o.documents()
	if err != nil {
		return err
	}
	if err := controlplane.EndOrphans(o.Dir.ControlPlane()); err != nil {
		return fmt.Errorf("stop the processes of an earlier run: %w", err)
	}
	if err := removeSockets(lease.Previous.Sockets); err != nil {
		return err
	}
	if !o.Keep {
		if err := lease.Clear(); err != nil {
			return err
		}
	}
	spans := &tree.Spans{}
	o.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	r := &running{options: o, lease: lease, began: time.Now(), spans: spans}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.start(ctx); err != nil {
		return r.unlessStopped(ctx, err)
	}
	if err := r.startPage(ctx); err != nil {
		return r.unlessStopped(ctx, err)
	}
	if err := r.applySample(ctx, documents); err != nil {
		return r.unlessStopped(ctx, err)
	}
	if err := r.report(ctx, documents); err != nil {
		return r.unlessStopped(ctx, err)
	}
	return r.wait(ctx)
}

// running is a running system.
type running struct {
	options Options
	lease   *rundir.Lease
	began   time.Time
	log     *os.File
	stores  []*store
	system  *system.System
	spans   *tree.Spans
	// pageURL is the URL of the demo page.
	pageURL string
}

// validate checks the options before anything is started.
func (o Options) validate() error {
	for flag, port := range map[string]int{"--api-port": o.APIPort, "--s3-port": o.S3Port, "--azure-port": o.AzurePort, "--gcs-port": o.GCSPort, "--page-port": o.PagePort} {
		if port < 0 || port > maxPort {
			return fmt.Errorf("%s %d is not a port: use a number from 1 to %d, or 0 for a free port", flag, port, maxPort)
		}
	}
	if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		return fmt.Errorf("--namespace %q is not a valid namespace name: %s", o.Namespace, strings.Join(problems, "; "))
	}
	return nil
}

func (o Options) documents() ([]sample.Document, error) {
	if o.Manifests == nil {
		return nil, nil
	}
	return sample.Read(o.Manifests)
}

func (r *running) say(format string, args ...any) {
	fmt.Fprintf(r.options.Progress, "cooper: "+format+"\n", args...)
}

// start starts the stores, and then the system with a driver for each.
func (r *running) start(ctx context.Context) error {
	log, err := os.OpenFile(r.options.Dir.Log(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("open the log file: %w", err)
	}
	r.log = log
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	for _, start := range clouds() {
		s, err := start(ctx, r.options, logger)
		if err != nil {
			return err
		}
		r.stores = append(r.stores, s)
	}
	r.say("starting the API server")
	// Without a logger, libraries would print to the terminal.
	handler := apiserver.LogTo(logger)
	options := system.Options{
		ControlPlaneOptions: controlplane.Options{
			Binaries: binaries.Options{Progress: r.options.Progress},
			DataDir:  r.options.Dir.ControlPlane(),
			Port:     r.options.portOf("api", r.options.APIPort),
			BeforeCRDs: func(ctx context.Context, config *rest.Config) error {
				return crds.Check(ctx, config, crds.Options{Replace: r.options.ReplaceCRDs, Out: r.options.Progress})
			},
		},
		HoldLeases: true,
		Logger:     &handler,
	}
	// A Secret that the user deletes is restored at once instead of at the next resync.
	options.Sidecar.WatchSecrets = true
	options.Controller.TracerProvider, options.Sidecar.TracerProvider, options.Connect.TracerProvider = r.options.tracer, r.options.tracer, r.options.tracer
	for _, s := range r.stores {
		options.Drivers = append(options.Drivers, s.driver)
	}
	if r.system, err = system.Start(ctx, options); err != nil {
		return fmt.Errorf("start the system: %w", err)
	}
	for _, s := range r.stores {
		if s.join == nil {
			continue
		}
		if err := s.join(ctx, r.system.ControlPlane().Config()); err != nil {
			return err
		}
	}
	return r.publish()
}

// publish writes the kubeconfig, links kubectl and publishes information for other commands.
func (r *running) publish() error {
	dir, cp := r.options.Dir, r.system.ControlPlane()
	if err := controlplane.WriteKubeconfig(dir.Kubeconfig(), cp.Config(), r.options.Namespace); err != nil {
		return err
	}
	if err := os.MkdirAll(dir.Bin(), 0o700); err != nil {
		return fmt.Errorf("create the directory for kubectl: %w", err)
	}
	link := filepath.Join(dir.Bin(), "kubectl")
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("link kubectl: %w", err)
	}
	if err := os.Symlink(cp.Kubectl(), link); err != nil {
		return fmt.Errorf("link kubectl: %w", err)
	}
	if err := r.options.keepPort("api", cp.Config().Host); err != nil {
		return err
	}
	return r.lease.Publish(func(i *rundir.Info) {
		i.Services = map[string]string{"Kubernetes API": cp.Config().Host}
		for _, s := range r.stores {
			if s.administrator != nil {
				i.StoreAdministrator = s.administrator
			}
			i.Services[s.name] = s.url
			i.Sockets = filepath.Dir(strings.TrimPrefix(r.system.Endpoint(s.driver.Name), "unix://"))
		}
	})
}

// removeSockets removes the socket directory of a killed process. It removes only *.sock files and then the
// empty directory, so that it cannot delete the user's files.
func removeSockets(dir string) error {
	if dir == "" {
		return nil
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil {
		return fmt.Errorf("find the sockets of an earlier run: %w", err)
	}
	if len(sockets) == 0 {
		return nil
	}
	for _, socket := range sockets {
		if err := os.Remove(socket); err != nil {
			return fmt.Errorf("remove the socket of an earlier run: %w", err)
		}
	}
	if err := os.Remove(dir); err != nil {
		return fmt.Errorf("remove the sockets of an earlier run: %w", err)
	}
	return nil
}

func (r *running) applySample(ctx context.Context, documents []sample.Document) error {
	if len(documents) == 0 {
		return nil
	}
	r.say("applying the sample to namespace %s", r.options.Namespace)
	c := r.system.Client()
	if err := sample.Apply(ctx, c, r.options.Namespace, documents); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.SampleTimeout,
		fmt.Errorf("timed out after %s (--sample-timeout); see %s", r.options.SampleTimeout, r.options.Dir.Log()))
	defer cancel()
	return sample.Wait(ctx, c, documents, func(line string) { r.say("%s", line) })
}

// wait returns when ctx ends or a component fails.
func (r *running) wait(ctx context.Context) error {
	parts := []*system.Component{r.system.Controller()}
	for _, s := range r.stores {
		parts = append(parts, r.system.Sidecar(s.driver.Name), r.system.Driver(s.driver.Name))
	}
	ended := make(chan *system.Component, len(parts))
	for _, part := range parts {
		go func() {
			select {
			case <-ctx.Done():
			case <-part.Done():
				ended <- part
			}
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case part := <-ended:
		return fmt.Errorf("%s stopped unexpectedly: %w; see %s", part.Name(), part.Stop(), r.options.Dir.Log())
	}
}

// unlessStopped ignores errors that are a consequence of Ctrl-C.
func (r *running) unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // ignored on purpose
	}
	return err
}

// stop stops everything in reverse order.
func (r *running) stop() error {
	r.say("stopping")
	var errs []error
	if r.system != nil {
		errs = append(errs, r.system.Stop())
	}
	for _, s := range r.stores {
		errs = append(errs, s.stop())
	}
	if r.log != nil {
		errs = append(errs, r.log.Close())
	}
	return errors.Join(errs...)
}

// Check prints which CRDs are installed on the API server of a kubeconfig, and returns an error if Cooper's
// may not be installed there.
func Check(ctx context.Context, kubeconfig string, o crds.Options) error {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return err
	}
	return crds.Check(ctx, config, o)
}

// clientOf returns a client for the API server of a kubeconfig file.
func clientOf(kubeconfig string) (client.Client, error) {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), cosiapi.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register the API types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the API server: %w", err)
	}
	return c, nil
}
