// SPDX-License-Identifier: Apache-2.0

// Package grants reads the Secrets of an access, one for each claim. It changes nothing. If a program
// prints a returned value, the output is redacted, so it cannot reveal a credential by accident.
package grants

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/internal/accessmode"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// Grant is the credential of an access for the bucket of one claim.
type Grant struct {
	// Claim and Secret are names in the namespace of the access.
	Claim, Secret string
	// BucketID is the driver's ID of the bucket.
	BucketID string
	// Modes are the access modes for the bucket, combined for all claims of the same bucket.
	Modes cosiapi.BucketAccessModes
	// Data is the data of the Secret.
	Data map[string][]byte
}

// Format implements fmt.Formatter for every verb and redacts the credential.
func (g Grant) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "Secret "+g.Secret+" [redacted]") // Format cannot return an error
}

// Complete completes the names of accesses for the argument of a subcommand.
func Complete(p *plugin.Plugin) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := p.Names(c.Context(), "BucketAccess")
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for i, name := range names {
			names[i] = "access/" + name
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Find reads the access that an argument names: access/NAME, bucketaccess/NAME or NAME. It also returns the
// client.
func Find(ctx context.Context, p *plugin.Plugin, argument string) (client.Client, *cosiapi.BucketAccess, error) {
	kind, name, ok := strings.Cut(argument, "/")
	if !ok {
		kind, name = "access", argument
	}
	if !slices.Contains([]string{"access", "bucketaccess", "bucketaccesses"}, kind) || name == "" {
		return nil, nil, plugin.Usagef("%q is not an access: use access/NAME", argument)
	}
	namespace, err := p.Namespace()
	if err != nil {
		return nil, nil, err
	}
	c, err := p.Client()
	if err != nil {
		return nil, nil, err
	}
	access := &cosiapi.BucketAccess{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, access); err != nil {
		return nil, nil, fmt.Errorf("read BucketAccess %q in namespace %q: %w", name, namespace, err)
	}
	return c, access, nil
}

// Read returns the grants of a provisioned access in the order of its claims, or only the grant of the named
// claim.
func Read(ctx context.Context, c client.Reader, access *cosiapi.BucketAccess, claim string) ([]Grant, error) {
	if !apimeta.IsStatusConditionTrue(access.Status.Conditions, cosiapi.ConditionProvisioned) {
		return nil, fmt.Errorf("BucketAccess %q is not provisioned: %s", access.Name, conditions.Explain(access.Status.Conditions))
	}
	var found []Grant
	var claims []string
	for _, wanted := range access.Spec.BucketClaims {
		claims = append(claims, wanted.BucketClaimName)
		if claim != "" && wanted.BucketClaimName != claim {
			continue
		}
		grant := Grant{Claim: wanted.BucketClaimName, Secret: wanted.AccessSecretName}
		grant.BucketID, grant.Modes = bucketOf(access, wanted.BucketClaimName)
		var err error
		if grant.Data, err = dataOf(ctx, c, access, wanted.AccessSecretName); err != nil {
			return nil, err
		}
		found = append(found, grant)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("BucketAccess %q does not use claim %q: set --claim to one of %s", access.Name, claim, strings.Join(claims, ", "))
	}
	return found, nil
}

// bucketOf returns the bucket of a claim, and the combined access modes of all claims of that bucket.
func bucketOf(access *cosiapi.BucketAccess, claim string) (id string, modes cosiapi.BucketAccessModes) {
	ids := map[string]string{}
	for _, bucket := range access.Status.AccessedBuckets {
		ids[bucket.BucketClaimName] = bucket.BucketID
	}
	id = ids[claim]
	for _, wanted := range access.Spec.BucketClaims {
		if ids[wanted.BucketClaimName] == id {
			modes = accessmode.Merge(modes, wanted.AccessModes)
		}
	}
	return id, modes
}

func dataOf(ctx context.Context, c client.Reader, access *cosiapi.BucketAccess, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, client.ObjectKey{Namespace: access.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("Secret %q of BucketAccess %q does not exist: COSI writes it again within minutes", name, access.Name)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("cannot read Secret %q: you need permission to get Secrets in namespace %q: %w", name, access.Namespace, err)
	case err != nil:
		return nil, fmt.Errorf("read Secret %q: %w", name, err)
	case len(secret.Data) == 0:
		return nil, fmt.Errorf("Secret %q of BucketAccess %q is empty: COSI fills it again within minutes", name, access.Name)
	}
	return secret.Data, nil
}
