// SPDX-License-Identifier: Apache-2.0

// Package gcsfakecmd is the command that runs the fake Cloud Storage as a process of its own: flags, start-up messages,
// the admin endpoint. It holds no behaviour of Cloud Storage; that is package gcsfake.
package gcsfakecmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// Options are the flags of the command.
type Options struct {
	// Listen is host:port; port 0 takes a free one.
	Listen string
	// Data is the directory for all state, "" for memory.
	Data string
	// Faults is the path of a fault plan in YAML, "" for none.
	Faults string
	// TLS serves HTTPS with a certificate of a CA made for it, whose certificate goes to CAFile.
	TLS    bool
	CAFile string
	Hosts  []string
	// Projects are the IDs of the projects, each with =NUMBER if the number matters.
	Projects []string
	// Pools are workload identity pools as ID=ISSUER.
	Pools []string
	// URL is where clients reach the fake, if that is not where it listens.
	URL string
	// KeyFile is where the administrator's JSON key goes.
	KeyFile string
}

// Prepare defines the flags and returns what runs with them until its context ends.
func Prepare(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error {
	var o Options
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:9002", "address to listen on; port 0 takes a free one")
	flags.StringVar(&o.Data, "data", "", "directory that keeps all state; without it everything is in memory")
	flags.StringVar(&o.Faults, "faults", "", "fault plan in YAML")
	flags.BoolVar(&o.TLS, "tls", false, "serve HTTPS with a certificate of a CA made for it")
	flags.StringVar(&o.CAFile, "ca-file", "", "where --tls writes the CA's certificate (default ca.pem in --data, or a temporary file)")
	flags.StringSliceVar(&o.Hosts, "tls-host", nil, "further host names or IP addresses for the certificate of --tls")
	flags.StringSliceVar(&o.Projects, "project", []string{gcsfake.DefaultProject}, "project that exists, as ID or ID=NUMBER")
	flags.StringSliceVar(&o.Pools, "pool", nil, "workload identity pool of the first project, as ID=ISSUER")
	flags.StringVar(&o.URL, "url", "", "address under which clients reach it, for the key file (default where it listens)")
	flags.StringVar(&o.KeyFile, "key-file", "", "where the administrator's JSON key goes (default admin.json in --data, or a temporary file)")
	return o.run
}

func (o *Options) settings() (gcsfake.Options, error) {
	out := gcsfake.Options{Dir: o.Data}
	for _, p := range o.Projects {
		id, number, _ := strings.Cut(p, "=")
		out.Projects = append(out.Projects, gcsfake.Project{ID: id, Number: number})
	}
	for _, p := range o.Pools {
		id, issuer, ok := strings.Cut(p, "=")
		if !ok {
			return out, fmt.Errorf("--pool %s: it must be ID=ISSUER", p)
		}
		out.Pools = append(out.Pools, gcsfake.Pool{ID: id, Issuer: issuer})
	}
	return out, nil
}

func (o *Options) run(ctx context.Context, stdout, _ io.Writer) error {
	settings, err := o.settings()
	if err != nil {
		return err
	}
	server, err := gcsfake.New(settings)
	if err != nil {
		return err
	}
	err = o.serve(ctx, server, stdout)
	return errors.Join(err, server.Close())
}

func (o *Options) serve(ctx context.Context, server *gcsfake.Server, stdout io.Writer) error {
	if o.Faults != "" {
		if err := loadFaults(server, o.Faults); err != nil {
			return err
		}
	}
	config, err := o.certificate()
	if err != nil {
		return err
	}
	listener, err := gcsfake.Listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	if o.TLS {
		url = "https://" + listener.Addr().String()
	}
	if err := o.writeKey(server, cmp.Or(o.URL, url)); err != nil {
		return errors.Join(err, listener.Close())
	}
	srv := &http.Server{Handler: withAdmin(server), TLSConfig: config, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- serveOn(srv, listener) }()
	o.announce(stdout, server, url)
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
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

func serveOn(srv *http.Server, l net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(l, "", "")
	}
	return srv.Serve(l)
}

func loadFaults(server *gcsfake.Server, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the fault plan: %w", err)
	}
	plan, err := fault.ParsePlan(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return server.Faults.Set(plan)
}

// place is where a file goes: the path of a flag, name in the data directory, or a temporary file.
func (o *Options) place(flag, name string) (string, error) {
	switch {
	case flag != "":
		return flag, nil
	case o.Data != "":
		return filepath.Join(o.Data, name), nil
	}
	f, err := os.CreateTemp("", "gcsfake-*-"+name)
	if err != nil {
		return "", fmt.Errorf("make a file for %s: %w", name, err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("make a file for %s: %w", name, err)
	}
	return f.Name(), nil
}

// certificate makes the certificate of --tls and writes its CA; it returns nil without --tls.
func (o *Options) certificate() (*tls.Config, error) {
	if !o.TLS {
		return nil, nil
	}
	config, ca, err := gcsfake.SelfSigned(o.Hosts...)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	if o.CAFile, err = o.place(o.CAFile, "ca.pem"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(o.CAFile, ca, 0o600); err != nil {
		return nil, fmt.Errorf("write the CA: %w", err)
	}
	return config, nil
}

func (o *Options) writeKey(server *gcsfake.Server, url string) error {
	key, err := server.AdminKey(url)
	if err != nil {
		return err
	}
	if o.KeyFile, err = o.place(o.KeyFile, "admin.json"); err != nil {
		return err
	}
	if err := os.WriteFile(o.KeyFile, key, 0o600); err != nil {
		return fmt.Errorf("write the administrator's key: %w", err)
	}
	return nil
}

// announce prints how to reach the fake, for eval in a shell.
func (o *Options) announce(w io.Writer, server *gcsfake.Server, url string) {
	fmt.Fprintf(w, "export GCS_ENDPOINT_URL=%s\n", url)
	fmt.Fprintf(w, "export GOOGLE_CLOUD_PROJECT=%s\n", server.ProjectID())
	fmt.Fprintf(w, "export GOOGLE_APPLICATION_CREDENTIALS=%s\n", o.KeyFile)
	if o.TLS {
		fmt.Fprintf(w, "export SSL_CERT_FILE=%s\n", o.CAFile)
	}
	fmt.Fprintf(w, "# ready: health, inventory, calls and faults under %s%s\n", url, adminPrefix)
}
