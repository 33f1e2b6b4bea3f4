// SPDX-License-Identifier: Apache-2.0

// Package rotate implements the subcommand rotate, which requests a new credential for an access. It does not
// read the credential.
package rotate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/grants"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// poll is the poll interval of --wait.
const poll = 500 * time.Millisecond

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	var awaits bool
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "rotate access/NAME",
		Short: "Request a new credential for a BucketAccess",
		Long: `Request a new credential for a BucketAccess. The previous one remains valid until the next rotation, so revoking a leaked
credential takes two rotations.`,
		Example: `  # Request a new credential and wait until it is delivered
  kubectl cosi rotate access/sample --wait`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: grants.Complete(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, access, err := grants.Find(cmd.Context(), p, args[0])
			if err != nil {
				return err
			}
			value := time.Now().UTC().Format(time.RFC3339Nano)
			if err := ask(cmd.Context(), c, access, value); err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "bucketaccess/%s: new credential requested\n", access.Name)
			if !awaits {
				return nil
			}
			if err := await(cmd.Context(), c, access, value, timeout); err != nil {
				return err
			}
			fmt.Fprintf(p.Out, "bucketaccess/%s: the new credential is in its Secrets. Restart Pods that read it from environment variables.\n", access.Name)
			return nil
		},
	}
	command.Flags().BoolVar(&awaits, "wait", false, "wait until the new credential is in the Secrets")
	command.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "timeout of --wait")
	return command
}

// ask writes the request to the access.
func ask(ctx context.Context, c client.Client, access *cosiapi.BucketAccess, value string) error {
	switch {
	case access.DeletionTimestamp != nil:
		return fmt.Errorf("BucketAccess %q is being deleted, so it gets no new credential", access.Name)
	case access.Status.AuthenticationType == cosiapi.AuthenticationTypeServiceAccount:
		return fmt.Errorf("BucketAccess %q authenticates by ServiceAccount: it has no credential to rotate", access.Name)
	}
	before := access.DeepCopy()
	cosiapi.SetAnnotation(access, cosiapi.RotateAnnotation, value)
	if err := c.Patch(ctx, access, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("request a new credential for BucketAccess %q: %w", access.Name, err)
	}
	return nil
}

// await waits until all Secrets of the access have the requested credential.
func await(ctx context.Context, c client.Reader, access *cosiapi.BucketAccess, value string, timeout time.Duration) error {
	key, said := client.ObjectKeyFromObject(access), "Waiting for COSI."
	err := wait.PollUntilContextTimeout(ctx, poll, timeout, true, func(context.Context) (bool, error) {
		// Not with the poll's context, whose end would produce a different error.
		if err := c.Get(ctx, key, access); err != nil {
			return false, err //nolint:wrapcheck // wrapped below
		}
		if asked := access.Annotations[cosiapi.RotateAnnotation]; asked != value {
			return false, errors.New("another rotation was requested in the meantime; see kubectl cosi status")
		}
		said = conditions.Explain(access.Status.Conditions)
		if failed := apimeta.IsStatusConditionFalse(access.Status.Conditions, cosiapi.ConditionProvisioned); failed {
			return false, errors.New(said)
		}
		return delivered(ctx, c, access, value)
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("BucketAccess %q has no new credential yet (%w): %s After ten rotations in a row, COSI performs only one per minute", access.Name, err, said)
	}
	if err != nil {
		return fmt.Errorf("wait for the new credential of BucketAccess %q: %w", access.Name, err)
	}
	return nil
}

// delivered reports whether all Secrets are for the requested rotation. It reads only their metadata.
func delivered(ctx context.Context, c client.Reader, access *cosiapi.BucketAccess, value string) (bool, error) {
	for _, wanted := range access.Spec.BucketClaims {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := c.Get(ctx, client.ObjectKey{Namespace: access.Namespace, Name: wanted.AccessSecretName}, secret)
		if err != nil || secret.Annotations[cosiapi.DeliveredRotationAnnotation] != value {
			return false, client.IgnoreNotFound(err)
		}
	}
	return true, nil
}
