// SPDX-License-Identifier: Apache-2.0

// Package s3fakecmd implements the command that runs the fake S3 as a separate process. It defines the flags and
// prints the startup messages; package s3fake implements the service.
package s3fakecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
)

// options are the flags of the command.
type options struct {
	fakecmd.Flags

	region, account       string
	rootKeyID, rootSecret string
	domains, kmsKeys      []string
	openBuckets           bool
	refuseV2              bool
	webhooks              map[string]string
}

// Prepare defines the flags and returns a function that runs the service with them until its context ends.
func Prepare(flags *pflag.FlagSet) func(ctx context.Context, stdout, stderr io.Writer) error {
	var o options
	o.Define(flags, "s3fake", "127.0.0.1:9000")
	flags.StringVar(&o.region, "region", "us-east-1", "region of the fake")
	flags.StringVar(&o.account, "account", "000000000000", "the account's 12-digit number")
	flags.StringVar(&o.rootKeyID, "root-access-key-id", "", "access key ID of the root user; empty uses that in --data, or generates one")
	flags.StringVar(&o.rootSecret, "root-secret-access-key", "", "secret for --root-access-key-id")
	flags.StringSliceVar(&o.domains, "domain", nil, "host name of virtual-hosted-style URLs, which begin with the bucket's name")
	flags.StringSliceVar(&o.kmsKeys, "kms-key", nil, "ID or ARN of an existing KMS key (default: any)")
	flags.BoolVar(&o.openBuckets, "open-buckets", false, "disable the public access block of new buckets")
	flags.BoolVar(&o.refuseV2, "refuse-signature-v2", false, "reject Signature Version 2, which AWS accepts in us-east-1")
	flags.StringToStringVar(&o.webhooks, "notify", nil, "NAME=URL: send the event notifications for the queue NAME to the URL, with POST")
	return o.run
}

func (o *options) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := o.Resolve(); err != nil {
		return err
	}
	if (o.rootKeyID == "") != (o.rootSecret == "") {
		return errors.New("--root-access-key-id and --root-secret-access-key must be set together; set neither to generate both")
	}
	server, err := s3fake.New(s3fake.Options{
		Region: o.region, AccountID: o.account, RootAccessKeyID: o.rootKeyID, RootSecretAccessKey: o.rootSecret,
		Dir: o.Data, Past: o.Past, Domains: o.domains, OpenBuckets: o.openBuckets, KMSKeys: o.kmsKeys, RefuseSignatureV2: o.refuseV2, Now: o.Now,
		Webhooks: o.webhooks, Log: slog.New(slog.NewTextHandler(stderr, nil)),
	})
	if err != nil {
		return err
	}
	root := server.Root()
	guard := fakecmd.Guard{
		Faults: &server.Faults, Operations: server.Operations(),
		Inventory: func() any { return server.Inventory() },
		IsAdmin:   func(r *http.Request) bool { return fakecmd.HasBasicAuth(r, root.AccessKeyID, root.SecretAccessKey) },
		Scheme:    "Basic", Wants: "the root access key and secret as user and password",
		Malformed: s3api.Malformed(),
	}
	return o.Serve(ctx, stdout, server, guard, func(url string) error {
		o.announce(stdout, server, url)
		return nil
	})
}

// announce prints how to reach the fake, for eval in a shell.
func (o *options) announce(w io.Writer, server *s3fake.Server, url string) {
	root := server.Root()
	fmt.Fprintf(w, "export AWS_ENDPOINT_URL=%s\n", url)
	// The AWS CLI up to version 1 reads only the second name; the SDKs prefer the first.
	fmt.Fprintf(w, "export AWS_REGION=%s\n", server.Region())
	fmt.Fprintf(w, "export AWS_DEFAULT_REGION=%s\n", server.Region())
	fmt.Fprintf(w, "export AWS_ACCESS_KEY_ID=%s\n", root.AccessKeyID)
	fmt.Fprintf(w, "export AWS_SECRET_ACCESS_KEY=%s\n", root.SecretAccessKey)
	if o.TLS {
		fmt.Fprintf(w, "export AWS_CA_BUNDLE=%s\n", o.CAFile)
	}
}
