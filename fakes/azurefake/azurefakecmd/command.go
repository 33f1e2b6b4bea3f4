// SPDX-License-Identifier: Apache-2.0

// Package azurefakecmd implements the command that runs the fake Azure Blob service as a separate process. It defines
// the flags and prints the startup messages; package azurefake implements the service.
package azurefakecmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd"
)

// options are the flags of the command.
type options struct {
	fakecmd.Flags

	accounts, domains []string
	// key is key1 of the first account in base64. Use it only for development, because other users of the machine can
	// see it.
	key string
	// keyFile is a file with key1 of the first account in base64.
	keyFile string
	// wellKnown is set if the first account has Azurite's key because no other key was set.
	wellKnown bool
	// queueListen and tableListen are the addresses at which calls of other services are rejected, or "".
	queueListen, tableListen string
	// issuerCA is a PEM file with which the issuers of federated tokens are verified.
	issuerCA                 string
	versioning, sharedKeyOff bool
	deletion                 time.Duration
	keepContainers           int
}

// Prepare defines the flags and returns a function that runs the service with them until its context ends.
func Prepare(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error {
	var o options
	o.Define(flags, "azurefake", "127.0.0.1:10000")
	flags.StringSliceVar(&o.accounts, "account", []string{azurefake.DefaultAccount}, "storage account, as NAME, NAME:KEY1 or NAME:KEY1:KEY2; repeat for several")
	flags.StringVar(&o.key, "key", "", "key1 of the first account in base64 (default Azurite's on a loopback address, otherwise generated)")
	flags.StringVar(&o.keyFile, "key-file", "", "file with key1 of the first account in base64, instead of --key")
	flags.StringVar(&o.queueListen, "queue-listen", "", "address that rejects calls of Queue Storage, for tools that wait for it; empty disables it")
	flags.StringVar(&o.tableListen, "table-listen", "", "address that rejects calls of Table Storage, for tools that wait for it; empty disables it")
	flags.StringSliceVar(&o.domains, "domain", nil, "host name of host-style URLs, which begin with the account's name (default blob.localhost)")
	flags.StringVar(&o.issuerCA, "issuer-ca", "", "PEM file with the certificate authority of the issuers of service account tokens (default the system's)")
	flags.BoolVar(&o.versioning, "versioning", false, "keep previous versions of blobs")
	flags.BoolVar(&o.sharedKeyOff, "no-shared-key", false, "reject requests that are signed with account keys")
	flags.IntVar(&o.keepContainers, "keep-containers", 0, "days for which deleted containers can be restored, at most 365 (default the setting in --data, or 0)")
	flags.DurationVar(&o.deletion, "deletion", 30*time.Second, "duration of the deletion of a container; negative deletes at once")
	return o.run
}

func (o *options) settings() (azurefake.Options, error) {
	out := azurefake.Options{Dir: o.Data, Past: o.Past, Domains: o.domains, Versioning: o.versioning, Deletion: o.deletion, Now: o.Now}
	var err error
	if out.Accounts, err = parseAccounts(o.accounts); err != nil {
		return out, err
	}
	for i := range out.Accounts {
		out.Accounts[i].SharedKeyOff, out.Accounts[i].KeepsContainers = o.sharedKeyOff, o.keepContainers
	}
	if out.Accounts[0].Key, err = o.firstKey(out.Accounts[0]); err != nil {
		return out, err
	}
	if o.issuerCA != "" {
		authority, err := os.ReadFile(o.issuerCA)
		if err != nil {
			return out, fmt.Errorf("read --issuer-ca: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(authority) {
			return out, fmt.Errorf("--issuer-ca %s contains no PEM certificate", o.issuerCA)
		}
		out.Issuers = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	}
	return out, nil
}

// administrator is the application with all permissions. It gets a new secret at each start.
const administrator = "administrator"

// login creates the administrator, or gives it a new secret.
func login(server *azurefake.Server) (azurefake.Principal, error) {
	wanted, assigned := azurefake.Principal{Name: administrator}, false
	held := server.Inventory()
	for _, one := range held.Principals {
		if one.Name == administrator && one.Identity == "" {
			wanted.ObjectID, wanted.ClientID = one.ObjectID, one.ClientID
		}
	}
	for _, one := range held.Assignments {
		assigned = assigned || one.PrincipalID == wanted.ObjectID
	}
	made, err := server.AddPrincipal(wanted)
	if err != nil || assigned {
		return made, err
	}
	for _, role := range []string{"Owner", "Storage Blob Data Owner"} {
		if _, err := server.Assign(made.ObjectID, role, server.GroupID()); err != nil {
			return made, err
		}
	}
	return made, nil
}

func (o *options) run(ctx context.Context, stdout, _ io.Writer) (err error) {
	if err := o.Resolve(); err != nil {
		return err
	}
	settings, err := o.settings()
	if err != nil {
		return err
	}
	server, err := azurefake.New(settings)
	if err != nil {
		return err
	}
	if err := o.checkKeys(settings.Accounts, server); err != nil {
		return errors.Join(err, server.Close())
	}
	if len(o.domains) == 0 {
		o.Hosts = append(o.Hosts, "*.blob.localhost")
	}
	for _, domain := range o.domains {
		o.Hosts = append(o.Hosts, "*."+domain)
	}
	account, services := settings.Accounts[0].Name, o.services()
	defer func() { err = errors.Join(err, closeAll(services)) }()
	guard := fakecmd.Guard{
		Faults: &server.Faults, Operations: azurefake.Operations(),
		Inventory: func() any { return server.Inventory() },
		IsAdmin: func(r *http.Request) bool {
			key, _ := server.Keys(account)
			return fakecmd.HasBasicAuth(r, account, key)
		},
		Scheme: "Basic", Wants: "the name and key1 of the first account as user and password",
	}
	return o.Serve(ctx, stdout, server, guard, func(url string) error {
		for _, s := range services {
			if err := s.start(o); err != nil {
				return err
			}
			s.announce(stdout)
		}
		o.announce(stdout, server, account, url)
		return o.announceLogin(stdout, server, url)
	})
}

// announce prints how to reach the fake, for eval in a shell, using the variables that azure-cli reads.
func (o *options) announce(w io.Writer, server *azurefake.Server, account, url string) {
	key, _ := server.Keys(account)
	scheme, _, _ := strings.Cut(url, ":")
	endpoint := url + "/" + account
	fmt.Fprintf(w, "export AZURE_STORAGE_ACCOUNT=%s\n", account)
	fmt.Fprintf(w, "export AZURE_STORAGE_KEY=%s\n", key)
	fmt.Fprintf(w, "export AZURE_STORAGE_BLOB_ENDPOINT=%s\n", endpoint)
	fmt.Fprintf(w, "export AZURE_STORAGE_CONNECTION_STRING='DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;'\n", scheme, account, key, endpoint)
	if o.TLS {
		fmt.Fprintf(w, "export SSL_CERT_FILE=%s\n", o.CAFile)
	}
	if o.wellKnown {
		fmt.Fprintln(w, "# the account has Azurite's public key, because --listen is a loopback address; set another one with --key")
	}
}

// announceLogin prints the credentials for tokens and management calls, using the variables that Azure's SDKs read.
// Clients do not send tokens without TLS.
func (o *options) announceLogin(w io.Writer, server *azurefake.Server, url string) error {
	if !o.TLS {
		return nil
	}
	admin, err := login(server)
	if err != nil {
		return err
	}
	for _, one := range [][2]string{
		{"TENANT_ID", server.TenantID()},
		{"CLIENT_ID", admin.ClientID},
		{"CLIENT_SECRET", admin.Secret},
		{"AUTHORITY_HOST", url},
		{"SUBSCRIPTION_ID", server.SubscriptionID()},
		{"RESOURCE_GROUP", server.ResourceGroup()},
		{"RESOURCE_MANAGER", url},
	} {
		fmt.Fprintf(w, "export AZURE_%s=%s\n", one[0], one[1])
	}
	return nil
}
