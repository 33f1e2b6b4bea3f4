// SPDX-License-Identifier: Apache-2.0

// Package azurefakecmd is the command that runs the fake Azure Blob service as a process of its own: flags, start-up
// messages, the admin endpoint. It holds no behaviour of the service; that is package azurefake.
package azurefakecmd

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
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/fault"
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

	Accounts, Domains, Hosts []string
	// Key is key1 of the first account in base64, for development: other users of the machine see it.
	Key string
	// KeyFile holds key1 of the first account in base64; invented without it.
	KeyFile                  string
	Versioning, SharedKeyOff bool
	Deletion                 time.Duration
}

// Prepare defines the flags and returns what runs with them until its context ends.
func Prepare(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error {
	var o Options
	flags.StringVar(&o.Listen, "listen", "127.0.0.1:10000", "address to listen on; port 0 takes a free one")
	flags.StringVar(&o.Data, "data", "", "directory that keeps all state; without it everything is in memory")
	flags.StringVar(&o.Faults, "faults", "", "fault plan in YAML")
	flags.BoolVar(&o.TLS, "tls", false, "serve HTTPS with a certificate of a CA made for it")
	flags.StringVar(&o.CAFile, "ca-file", "", "where --tls writes the CA's certificate (default ca.pem in --data, or a temporary file)")
	flags.StringSliceVar(&o.Hosts, "tls-host", nil, "further host names or IP addresses for the certificate of --tls")
	flags.StringSliceVar(&o.Accounts, "account", []string{azurefake.DefaultAccount}, "storage account that exists; repeatable")
	flags.StringVar(&o.Key, "key", "", "key1 of the first account in base64, if it is in no file")
	flags.StringVar(&o.KeyFile, "key-file", "", "file with key1 of the first account in base64; invented when left out")
	flags.StringSliceVar(&o.Domains, "domain", nil, "host name before which an account's name stands, beside path style (default blob.localhost)")
	flags.BoolVar(&o.Versioning, "versioning", false, "keep the earlier states of blobs")
	flags.BoolVar(&o.SharedKeyOff, "no-shared-key", false, "refuse what account keys sign")
	flags.DurationVar(&o.Deletion, "deletion", 30*time.Second, "how long a container is being deleted; negative for no time")
	return o.run
}

func (o *Options) run(ctx context.Context, stdout, _ io.Writer) error {
	settings := azurefake.Options{Dir: o.Data, Domains: o.Domains, Versioning: o.Versioning, Deletion: o.Deletion}
	for _, name := range o.Accounts {
		settings.Accounts = append(settings.Accounts, azurefake.Account{Name: name, SharedKeyOff: o.SharedKeyOff})
	}
	if o.Key != "" && o.KeyFile != "" {
		return errors.New("--key and --key-file contradict each other")
	}
	if o.Key != "" && len(settings.Accounts) > 0 {
		settings.Accounts[0].Key = o.Key
	}
	if o.KeyFile != "" && len(settings.Accounts) > 0 {
		key, err := os.ReadFile(o.KeyFile)
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		settings.Accounts[0].Key = strings.TrimSpace(string(key))
	}
	server, err := azurefake.New(settings)
	if err != nil {
		return err
	}
	err = o.serve(ctx, server, stdout)
	return errors.Join(err, server.Close())
}

func (o *Options) serve(ctx context.Context, server *azurefake.Server, stdout io.Writer) error {
	if o.Faults != "" {
		if err := loadFaults(server, o.Faults); err != nil {
			return err
		}
	}
	config, err := o.certificate()
	if err != nil {
		return err
	}
	listener, err := azurefake.Listen(ctx, o.Listen)
	if err != nil {
		return err
	}
	account := o.Accounts[0]
	srv := &http.Server{Handler: withAdmin(server, account), TLSConfig: config, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() {
		if config != nil {
			done <- srv.ServeTLS(listener, "", "")
			return
		}
		done <- srv.Serve(listener)
	}()
	o.announce(stdout, server, account, listener.Addr())
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

func loadFaults(server *azurefake.Server, path string) error {
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
	hosts := o.Hosts
	if len(o.Domains) == 0 {
		hosts = append(hosts, "*.blob.localhost")
	}
	for _, domain := range o.Domains {
		hosts = append(hosts, "*."+domain)
	}
	config, ca, err := azurefake.SelfSigned(hosts...)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	if o.CAFile == "" && o.Data != "" {
		o.CAFile = filepath.Join(o.Data, "ca.pem")
	}
	if o.CAFile == "" {
		f, err := os.CreateTemp("", "azurefake-ca-*.pem")
		if err == nil {
			o.CAFile, err = f.Name(), f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("make a file for the CA: %w", err)
		}
	}
	if err := os.WriteFile(o.CAFile, ca, 0o600); err != nil {
		return nil, fmt.Errorf("write the CA: %w", err)
	}
	return config, nil
}

// announce prints how to reach the fake, for eval in a shell: with the variables that azure-cli reads.
func (o *Options) announce(w io.Writer, server *azurefake.Server, account string, address net.Addr) {
	scheme := "http"
	if o.TLS {
		scheme = "https"
	}
	key, _ := server.Keys(account)
	endpoint := fmt.Sprintf("%s://%s/%s", scheme, address, account)
	fmt.Fprintf(w, "export AZURE_STORAGE_ACCOUNT=%s\n", account)
	fmt.Fprintf(w, "export AZURE_STORAGE_KEY=%s\n", key)
	fmt.Fprintf(w, "export AZURE_STORAGE_BLOB_ENDPOINT=%s\n", endpoint)
	fmt.Fprintf(w, "export AZURE_STORAGE_CONNECTION_STRING='DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;'\n", scheme, account, key, endpoint)
	if o.TLS {
		fmt.Fprintf(w, "export SSL_CERT_FILE=%s\n", o.CAFile)
	}
	fmt.Fprintf(w, "# ready: health, inventory, calls and faults under %s://%s%s\n", scheme, address, adminPrefix)
}
