// SPDX-License-Identifier: Apache-2.0

// Package fakecmd implements the common parts of the commands of all fakes: the flags for serving, the certificate,
// the fault plan, the admin endpoint, and the order of startup and shutdown.
package fakecmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/internal/endpoint"
	"github.com/cooper-cosi/cooper/fakes/internal/selfsigned"
)

// Fake is a server that has been created but not started.
type Fake interface {
	http.Handler
	Calls() []fault.Call
	ForgetCalls()
	Seed(raw []byte) error
	Reset() error
	Close() error
}

// Guard contains what the command needs for faults and the admin endpoint of a fake.
type Guard struct {
	Faults *fault.Injector
	// Operations are the valid names of operations in rules.
	Operations []string
	// Inventory returns the fake's contents, which the admin endpoint encodes as JSON.
	Inventory func() any
	// IsAdmin reports whether a request has the administrator's credentials. Scheme is the authentication scheme, and
	// Wants names the credentials in the error message.
	IsAdmin       func(*http.Request) bool
	Scheme, Wants string
	// Malformed is the XML body of the response to a request that net/http cannot parse; nil means the body of
	// net/http.
	Malformed []byte
	// GRPC means that the fake serves gRPC.
	GRPC bool
}

// Flags are the flags of every fake's command.
type Flags struct {
	// Listen is host:port; port 0 selects a free port.
	Listen string
	// Data is the directory for all state; "" keeps the state in memory.
	Data string
	// Like is the name of the program that the fake replaces, or "".
	Like string
	// Faults is the path of a fault plan in YAML, or "" for none. SeedFile is the path of the initial contents. SeedDir
	// is a directory with them: its directories are buckets, and the files below these are objects.
	Faults, SeedFile, SeedDir string
	// Admin serves the admin endpoint in addition to the health check.
	Admin bool
	// Past keeps earlier states for fault rules with the effect stale.
	Past bool
	// TLS serves HTTPS with a certificate of a new CA. The CA's certificate is written to CAFile, unless Cert is set. Then
	// CAFile is the file that clients must trust.
	TLS    bool
	CAFile string
	// Hosts are additional host names and IP addresses in the certificate.
	Hosts []string
	// Cert and Key are PEM files with the certificate and its private key that replace the generated ones, or "".
	Cert, Key string

	name, listen string
	flags        *pflag.FlagSet
	like         peer
	// ahead is how far the fake's clock is ahead of the machine's.
	ahead   time.Duration
	current atomic.Int64 // the current value of ahead
	// config is the configuration of TLS, or nil.
	config *tls.Config
	// temporary are the files that Place created and Serve removes.
	temporary []string
}

// Define defines the flags. name is the name of the fake, used for temporary files. listen is the default of
// --listen.
func (f *Flags) Define(flags *pflag.FlagSet, name, listen string) {
	f.name, f.listen, f.flags = name, listen, flags
	flags.StringVar(&f.Listen, "listen", listen, "address to listen on; port 0 means a free one, and no port the default")
	flags.StringVar(&f.Like, "like", "", "replace "+strings.Join(likes(name), " or ")+": use its port, credentials, health checks and log lines")
	flags.StringVar(&f.Data, "data", "", "directory for all state; empty keeps the state in memory")
	flags.StringVar(&f.Faults, "faults", "", "fault plan in YAML")
	flags.StringVar(&f.SeedFile, "seed-file", "", "YAML file with the initial content; existing content of --data is not changed")
	flags.StringVar(&f.SeedDir, "seed-dir", "", "directory whose directories become buckets and whose files become objects")
	flags.BoolVar(&f.Admin, "admin", false, "serve inventory, calls, faults, clock and reset below /_cooper/ to the administrator")
	flags.BoolVar(&f.Past, "past", false, "keep past states for fault rules with the effect stale")
	flags.BoolVar(&f.TLS, "tls", false, "serve HTTPS with a certificate of a generated CA")
	flags.StringVar(&f.CAFile, "ca-file", "", "output file for the CA's certificate of --tls, or the existing CA file of --tls-cert (default ca.pem in --data, a temporary file, or --tls-cert)")
	flags.DurationVar(&f.ahead, "clock", 0, "offset of the fake's clock from the machine's clock")
	flags.StringSliceVar(&f.Hosts, "tls-host", nil, "additional host names or IP addresses for the certificate of --tls")
	flags.StringVar(&f.Cert, "tls-cert", "", "PEM file with the certificate for HTTPS, instead of the generated one of --tls")
	flags.StringVar(&f.Key, "tls-key", "", "PEM file with the private key of --tls-cert")
}

// Now returns the time of the fake's clock: the machine's time plus the offset set by --clock or the admin endpoint.
func (f *Flags) Now() time.Time { return time.Now().Add(time.Duration(f.current.Load())) }

// Serve serves the fake until the context ends, and then closes it. When the port is open and before it serves the
// first request, Serve calls ready with the URL; ready prints the addresses and credentials for clients. Serve then
// prints the line that reports readiness.
func (f *Flags) Serve(ctx context.Context, stdout io.Writer, fake Fake, guard Guard, ready func(url string) error) error {
	return errors.Join(f.serve(ctx, stdout, fake, guard, ready), fake.Close(), f.tidy())
}

// tidy removes temporary files: a CA's certificate is worth nothing without its server.
func (f *Flags) tidy() error {
	var errs []error
	for _, path := range f.temporary {
		errs = append(errs, os.Remove(path))
	}
	return errors.Join(errs...)
}

func (f *Flags) serve(ctx context.Context, stdout io.Writer, fake Fake, guard Guard, ready func(url string) error) error {
	if err := f.begin(guard.Faults); err != nil {
		return err
	}
	if err := f.seed(fake); err != nil {
		return err
	}
	var err error
	if f.config, err = f.certificate(); err != nil {
		return err
	}
	listener, err := endpoint.Listen(ctx, f.Listen)
	if err != nil {
		return err
	}
	url := endpoint.URL(f.config, listener.Addr())
	if err := ready(url); err != nil {
		return errors.Join(err, listener.Close())
	}
	srv := endpoint.NewServer(endpoint.Options{Handler: f.withAdmin(fake, guard), TLS: f.config, Malformed: guard.Malformed, GRPC: guard.GRPC})
	done := make(chan error, 1)
	go func() { done <- endpoint.Serve(srv, listener, guard.Malformed) }()
	served := "health"
	if f.Admin {
		served = "health, inventory, operations, calls, faults, clock and reset"
	}
	fmt.Fprintf(stdout, "# ready: %s under %s%s\n", served, url, AdminPrefix)
	f.announceReady(stdout, url)
	select {
	case err = <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	err = srv.Close()
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop the fake: %w", err)
	}
	return nil
}

// seed creates the fake's initial contents.
func (f *Flags) seed(fake Fake) error {
	if f.SeedFile != "" {
		raw, err := os.ReadFile(f.SeedFile)
		if err != nil {
			return fmt.Errorf("read the seed: %w", err)
		}
		if err := fake.Seed(raw); err != nil {
			return fmt.Errorf("%s: %w", f.SeedFile, err)
		}
	}
	if f.SeedDir == "" {
		return nil
	}
	raw, err := seedOfDir(f.SeedDir, f.name == "azurefake")
	if err != nil {
		return err
	}
	if err := fake.Seed(raw); err != nil {
		return fmt.Errorf("--seed-dir %s: %w", f.SeedDir, err)
	}
	return nil
}

// begin sets clock and faults as the flags say.
func (f *Flags) begin(faults *fault.Injector) error {
	f.current.Store(int64(f.ahead))
	if f.Faults == "" {
		return nil
	}
	raw, err := os.ReadFile(f.Faults)
	if err != nil {
		return fmt.Errorf("read the fault plan: %w", err)
	}
	plan, err := fault.ParsePlan(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Faults, err)
	}
	return faults.Set(plan)
}

// TLSConfig returns a copy of the configuration with which the fake serves, or nil without TLS. Call it after Serve has
// called ready.
func (f *Flags) TLSConfig() *tls.Config { return f.config.Clone() }

// certificate loads the certificate of --tls-cert, or creates one and writes its CA's certificate. Without TLS it
// returns nil.
func (f *Flags) certificate() (*tls.Config, error) {
	if !f.TLS {
		return nil, nil
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("load --tls-cert and --tls-key: %w", err)
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, nil
	}
	config, ca, err := selfsigned.New(f.Hosts...)
	if err != nil {
		return nil, fmt.Errorf("create a certificate: %w", err)
	}
	if f.CAFile, err = f.Place(f.CAFile, "ca.pem"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(f.CAFile, ca, 0o600); err != nil {
		return nil, fmt.Errorf("write the CA's certificate: %w", err)
	}
	return config, nil
}

// Place returns the path of a file. It is path if a flag sets it, otherwise name in the data directory. Without a
// data directory, Place creates a temporary file, which Serve removes at the end.
func (f *Flags) Place(path, name string) (string, error) {
	switch {
	case path != "":
		return path, nil
	case f.Data != "":
		return filepath.Join(f.Data, name), nil
	}
	file, err := os.CreateTemp("", f.name+"-*-"+name)
	if err != nil {
		return "", fmt.Errorf("create a file for %s: %w", name, err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("create a file for %s: %w", name, err)
	}
	f.temporary = append(f.temporary, file.Name())
	return file.Name(), nil
}
