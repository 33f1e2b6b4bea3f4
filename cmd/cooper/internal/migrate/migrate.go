// SPDX-License-Identifier: Apache-2.0

// Package migrate plans the migration of buckets from COSI v1alpha1 to v1alpha2 for `cooper migrate`. It
// reads a backup of the v1alpha1 objects and the state of the cluster, and prints the remaining steps and the
// new manifests. It does not create, change or delete objects. It reads only the metadata of Secrets.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Options select what to migrate, and to which driver.
type Options struct {
	// Backup is the file with the objects of v1alpha1, as written by kubectl get -o yaml.
	Backup string
	// From is the driver that serves the buckets under v1alpha1. Driver is the driver that serves them after
	// the migration; empty means the same one.
	From, Driver string
	// IDPrefix is prepended to the old bucket ID to get the bucket ID of the new driver.
	IDPrefix string
	// AccessClasses maps old BucketAccessClasses to those of the new credentials.
	AccessClasses map[string]string
	// Suffix is appended to the name of an old Secret to get the name of the new one.
	Suffix string
}

// Run writes the plan: comments that explain each step, with the commands, and the manifests to apply. It
// reports steps that are done, so users can run it again after each step and after an interruption.
func Run(ctx context.Context, config *rest.Config, o Options, to io.Writer) error {
	if o.Driver == "" {
		o.Driver = o.From
	}
	if err := o.validate(); err != nil {
		return err
	}
	old, err := readBackup(o.Backup)
	if err != nil {
		return err
	}
	scheme, err := reconciler.NewScheme()
	if err == nil {
		err = apiextensionsv1.AddToScheme(scheme)
	}
	if err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("cannot reach the API server at %s: %w", config.Host, err)
	}
	now, err := survey(ctx, c, old, o)
	if err != nil {
		return err
	}
	if err := now.fits(old, o.Backup); err != nil {
		return err
	}
	return o.plan(old, now).write(to, o, old, now)
}

func (o Options) validate() error {
	switch {
	case o.Backup == "":
		return errors.New("--backup is not set: pass the file with the v1alpha1 objects; see docs/howto/migrate-from-v1alpha1.md")
	case o.From == "":
		return errors.New("--from is not set: pass the name of the driver to migrate buckets from")
	case o.Suffix == "":
		return errors.New("--suffix must not be empty: the old and the new Secret exist at the same time")
	}
	if problems := validation.IsDNS1123Subdomain("a" + o.Suffix); len(problems) > 0 {
		return fmt.Errorf("--suffix %q is not a valid end of a Secret name: %v", o.Suffix, problems)
	}
	if err := cosi.ValidateDriverName(o.Driver); err != nil {
		return fmt.Errorf("--driver: %w", err)
	}
	return nil
}
