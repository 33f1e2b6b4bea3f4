// SPDX-License-Identifier: Apache-2.0

// Package gcsfakecmd implements the command that runs the fake Cloud Storage as a separate process. It defines the
// flags and prints the startup messages; package gcsfake implements the service.
package gcsfakecmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd"
)

// options are the flags of the command.
type options struct {
	fakecmd.Flags

	// projects are the IDs of the projects, each optionally followed by =NUMBER.
	projects []string
	// anonymousIs is the account as which requests without credentials act.
	anonymousIs string
	// pools are workload identity pools in the form ID=ISSUER.
	pools []string
	// url is the address at which clients reach the fake, if it differs from the listen address.
	url string
	// keyFile is the file to which the administrator's JSON key is written.
	keyFile string
}

// Prepare defines the flags and returns a function that runs the service with them until its context ends.
func Prepare(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error {
	var o options
	o.Define(flags, "gcsfake", "127.0.0.1:9002")
	flags.StringSliceVar(&o.projects, "project", nil, "project, as ID or ID=NUMBER (default "+gcsfake.DefaultProject+", and any other on its first use)")
	flags.StringVar(&o.anonymousIs, "anonymous-is", "", "service account, as email or ID, as which requests without credentials act")
	flags.StringSliceVar(&o.pools, "pool", nil, "workload identity pool of the first project, as ID=ISSUER")
	flags.StringVar(&o.url, "url", "", "URL for clients, in the key file (default the listen address)")
	flags.StringVar(&o.keyFile, "key-file", "", "output file for the administrator's JSON key (default admin.json in --data, or a temporary file)")
	return o.run
}

func (o *options) settings() (gcsfake.Options, error) {
	out := gcsfake.Options{Dir: o.Data, Past: o.Past, Now: o.Now, AnonymousIs: o.anonymousIs}
	out.OneProject = o.Like == "fake-gcs-server" && len(o.projects) == 0
	for _, p := range o.projects {
		id, number, _ := strings.Cut(p, "=")
		out.Projects = append(out.Projects, gcsfake.Project{ID: id, Number: number})
	}
	for _, p := range o.pools {
		id, issuer, ok := strings.Cut(p, "=")
		if !ok {
			return out, fmt.Errorf("--pool %s: it must be ID=ISSUER", p)
		}
		out.Pools = append(out.Pools, gcsfake.Pool{ID: id, Issuer: issuer})
	}
	return out, nil
}

func (o *options) run(ctx context.Context, stdout, _ io.Writer) error {
	if err := o.Resolve(); err != nil {
		return err
	}
	settings, err := o.settings()
	if err != nil {
		return err
	}
	server, err := gcsfake.New(settings)
	if err != nil {
		return err
	}
	guard := fakecmd.Guard{
		Faults: &server.Faults, Operations: gcsfake.Operations(),
		Inventory: func() any { return server.Inventory() },
		IsAdmin: func(r *http.Request) bool {
			return server.IsAdmin(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		},
		Scheme: "Bearer", Wants: "an access token of the administrator", GRPC: true,
	}
	return o.Serve(ctx, stdout, server, guard, func(url string) error {
		if err := o.writeKey(server, cmp.Or(o.url, url)); err != nil {
			return err
		}
		o.announce(stdout, server, url)
		return nil
	})
}

func (o *options) writeKey(server *gcsfake.Server, url string) error {
	key, err := server.AdminKey(url)
	if err != nil {
		return err
	}
	if o.keyFile, err = o.Place(o.keyFile, "admin.json"); err != nil {
		return err
	}
	if err := os.WriteFile(o.keyFile, key, 0o600); err != nil {
		return fmt.Errorf("write the administrator's key: %w", err)
	}
	return nil
}

// announce prints how to reach the fake, for eval in a shell.
func (o *options) announce(w io.Writer, server *gcsfake.Server, url string) {
	fmt.Fprintf(w, "export GCS_ENDPOINT_URL=%s\n", url)
	fmt.Fprintf(w, "export GOOGLE_CLOUD_PROJECT=%s\n", server.ProjectID())
	fmt.Fprintf(w, "export GOOGLE_APPLICATION_CREDENTIALS=%s\n", o.keyFile)
	fmt.Fprintf(w, "export CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=%s/storage/v1/\n", url)
	fmt.Fprintf(w, "export CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE=%s\n", o.keyFile)
	fmt.Fprintf(w, "export CLOUDSDK_AUTH_TOKEN_HOST=%s/token\n", url)
	if o.anonymousIs != "" { // Google's clients send no credentials then
		fmt.Fprintf(w, "export STORAGE_EMULATOR_HOST=%s\n", url)
		if address, ok := strings.CutPrefix(url, "http://"); ok { // the variable cannot ask for TLS
			fmt.Fprintf(w, "export STORAGE_EMULATOR_HOST_GRPC=%s\n", address)
		}
	}
	if o.TLS {
		fmt.Fprintf(w, "export SSL_CERT_FILE=%s\n", o.CAFile)
	}
	if o.anonymousIs == "" {
		fmt.Fprintln(w, "# the variables redirect only gcloud. To redirect the clients for Go, Python and Node, add --anonymous-is ACCOUNT, which exports STORAGE_EMULATOR_HOST")
	}
}
