// SPDX-License-Identifier: Apache-2.0

// Package s3fakecmd is the command that runs the fake S3 as a process of its own: flags, start-up messages, the admin
// endpoint. It holds no behaviour of S3; that is package s3fake.
package s3fakecmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/fault"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
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

	Region, Account         string
	RootKeyID, RootSecret   string
	Domains, Hosts, KMSKeys []string
	OpenBuckets             bool
}

// Prepare defines the flags and returns what runs with them until its context ends.
func Prepare(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error {
	var o Options
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:9000", "address to listen on; port 0 takes a free one")
	flags.StringVar(&o.Data, "data", "", "directory that keeps all state; without it everything is in memory")
	flags.StringVar(&o.Faults, "faults", "", "fault plan in YAML")
	flags.BoolVar(&o.TLS, "tls", false, "serve HTTPS with a certificate of a CA made for it")
	flags.StringVar(&o.CAFile, "ca-file", "", "where --tls writes the CA's certificate (default ca.pem in --data, or a temporary file)")
	flags.StringSliceVar(&o.Hosts, "tls-host", nil, "further host names or IP addresses for the certificate of --tls")
	flags.StringVar(&o.Region, "region", "us-east-1", "the only region served")
	flags.StringVar(&o.Account, "account", "000000000000", "the account's 12-digit number")
	flags.StringVar(&o.RootKeyID, "root-access-key-id", "", "root credentials; invented when left out")
	flags.StringVar(&o.RootSecret, "root-secret-access-key", "", "secret for --root-access-key-id")
	flags.StringSliceVar(&o.Domains, "domain", nil, "host name under which buckets are also sub-domains")
	flags.StringSliceVar(&o.KMSKeys, "kms-key", nil, "ID or ARN of a KMS key that exists (default: any)")
	flags.BoolVar(&o.OpenBuckets, "open-buckets", false, "leave the public access block of new buckets off")
	return o.run
}

func (o *Options) run(ctx context.Context, stdout, _ io.Writer) error {
	settings := s3fake.Options{
		Region: o.Region, AccountID: o.Account, RootAccessKeyID: o.RootKeyID, RootSecretAccessKey: o.RootSecret,
		Dir: o.Data, Domains: o.Domains, OpenBuckets: o.OpenBuckets, KMSKeys: o.KMSKeys,
	}
	server, err := s3fake.New(settings)
	if err != nil {
		return err
	}
	err = o.serve(ctx, server, stdout)
	return errors.Join(err, server.Close())
}

func (o *Options) serve(ctx context.Context, server *s3fake.Server, stdout io.Writer) error {
	if o.Faults != "" {
		if err := loadFaults(server, o.Faults); err != nil {
			return err
		}
	}
	config, err := o.certificate()
	if err != nil {
		return err
	}
	listener, err := s3fake.Listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: withAdmin(server), TLSConfig: config, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() {
		if config != nil {
			done <- srv.ServeTLS(listener, "", "")
			return
		}
		done <- srv.Serve(listener)
	}()
	o.announce(stdout, server, listener.Addr())
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

func loadFaults(server *s3fake.Server, path string) error {
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

// certificate makes the certificate of --tls and writes its CA; it returns nil without --tls.
func (o *Options) certificate() (*tls.Config, error) {
	if !o.TLS {
		return nil, nil
	}
	config, ca, err := s3fake.SelfSigned(o.Hosts...)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	switch {
	case o.CAFile != "":
	case o.Data != "":
		o.CAFile = filepath.Join(o.Data, "ca.pem")
	default:
		f, err := os.CreateTemp("", "s3fake-ca-*.pem")
		if err != nil {
			return nil, fmt.Errorf("make a file for the CA: %w", err)
		}
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("make a file for the CA: %w", err)
		}
		o.CAFile = f.Name()
	}
	if err := os.WriteFile(o.CAFile, ca, 0o600); err != nil {
		return nil, fmt.Errorf("write the CA: %w", err)
	}
	return config, nil
}

// announce prints how to reach the fake, for eval in a shell.
func (o *Options) announce(w io.Writer, server *s3fake.Server, address net.Addr) {
	scheme := "http"
	if o.TLS {
		scheme = "https"
	}
	root := server.Root()
	fmt.Fprintf(w, "export AWS_ENDPOINT_URL=%s://%s\n", scheme, address)
	fmt.Fprintf(w, "export AWS_REGION=%s\n", server.Region())
	fmt.Fprintf(w, "export AWS_ACCESS_KEY_ID=%s\n", root.AccessKeyID)
	fmt.Fprintf(w, "export AWS_SECRET_ACCESS_KEY=%s\n", root.SecretAccessKey)
	if o.TLS {
		fmt.Fprintf(w, "export AWS_CA_BUNDLE=%s\n", o.CAFile)
	}
	fmt.Fprintf(w, "# ready: health, inventory, calls and faults under %s://%s%s\n", scheme, address, adminPrefix)
}
