// SPDX-License-Identifier: Apache-2.0

// Package migrate plans how the buckets of COSI v1alpha1 become those of v1alpha2, for `cooper migrate`: from a backup
// of the old objects and what a cluster says, it writes what is left to be done, and the manifests. It only reads, and
// of Secrets only their metadata. Nothing in it may create, change or delete an object.
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

// Options say what moves, and to which driver.
type Options struct {
	// Backup is the file with the objects of v1alpha1, as kubectl get -o yaml writes them.
	Backup string
	// From is the driver that has the buckets under v1alpha1, Driver the one that serves them from now on; empty means
	// the same one.
	From, Driver string
	// IDPrefix comes before the old ID of a bucket in the new driver's ID of it.
	IDPrefix string
	// AccessClasses are the BucketAccessClasses of the new credentials, by the names of the old ones.
	AccessClasses map[string]string
	// Suffix is added to the name of an old Secret for that of the new one.
	Suffix string
}

// Run writes what is to be done: comments for people, with the commands, and the manifests to apply. What is done
// already is said to be, so that it can be asked again after each step, and after any that was interrupted.
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
		return fmt.Errorf("kinds of the API: %w", err)
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
		return errors.New("--backup is not set: give the file with the objects of v1alpha1; docs/howto/migrate-from-v1alpha1.md says how to write it")
	case o.From == "":
		return errors.New("--from is not set: give the name of the driver whose buckets are to move")
	case o.Suffix == "":
		return errors.New("--suffix must not be empty: the new Secret stands beside the old one")
	}
	if problems := validation.IsDNS1123Subdomain("a" + o.Suffix); len(problems) > 0 {
		return fmt.Errorf("--suffix %q cannot end the name of a Secret: %v", o.Suffix, problems)
	}
	if err := cosi.ValidateDriverName(o.Driver); err != nil {
		return fmt.Errorf("--driver: %w", err)
	}
	return nil
}
