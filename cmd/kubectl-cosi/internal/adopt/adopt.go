// SPDX-License-Identifier: Apache-2.0

// Package adopt implements the subcommand adopt, which writes the manifests for an existing bucket. It does
// not apply the manifests and does not contact a cluster.
package adopt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
)

const examples = `  # Manifests that hand the bucket photos of the S3 driver to the namespace team-a
  kubectl cosi adopt photos --claim team-a/photos --driver s3.cooper.dev --protocol S3 > photos.yaml

  # The same with a read-only access
  kubectl cosi adopt photos --claim team-a/photos --driver s3.cooper.dev --protocol S3 --access-class sample --access-mode ReadOnly |
    kubectl apply -f -`

// options describe the bucket.
type options struct {
	id, claim, driver, accessClass, accessMode string
	protocols                                  []string
}

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	o := options{}
	command := &cobra.Command{
		Use:   "adopt BUCKET-ID",
		Short: "Write the manifests that hand an existing bucket to a BucketClaim",
		Long: `Write the manifests that hand an existing bucket to a BucketClaim. BUCKET-ID is the driver's ID of the bucket. For the S3
driver it is the name, with the prefix "BACKEND." unless the bucket is in the default backend. The command does not apply
the manifests. COSI never deletes such a bucket. An administrator applies the Bucket; a user of the namespace applies the rest.`,
		Example: examples,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.id = args[0]
			objects, err := manifests(o)
			if err != nil {
				return plugin.Usagef("%w", err)
			}
			for i, object := range objects {
				text, err := yaml.Marshal(object)
				if err != nil {
					return fmt.Errorf("write the manifests: %w", err)
				}
				if i > 0 {
					fmt.Fprintln(p.Out, "---")
				}
				fmt.Fprint(p.Out, string(text))
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.claim, "claim", "", "namespace and name of the BucketClaim that gets the bucket, as NAMESPACE/NAME")
	flags.StringVar(&o.driver, "driver", "", "name of the driver that serves the bucket")
	flags.StringSliceVar(&o.protocols, "protocol", nil, "S3, Azure or GCS; repeat for several")
	flags.StringVar(&o.accessClass, "access-class", "", "BucketAccessClass of an additional BucketAccess")
	flags.StringVar(&o.accessMode, "access-mode", "", "access mode of that BucketAccess: ReadWrite, ReadOnly or WriteOnly")
	for _, required := range []string{"claim", "driver", "protocol"} {
		_ = command.MarkFlagRequired(required) // the flag is defined above
	}
	command.MarkFlagsRequiredTogether("access-class", "access-mode")
	return command
}

// manifests returns the objects in the order in which to apply them.
func manifests(o options) ([]any, error) {
	namespace, name, _ := strings.Cut(o.claim, "/")
	bucket := namespace + "." + name
	if err := errors.Join(
		valid("--claim", o.claim, len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0, "NAMESPACE/NAME"),
		valid("--driver", o.driver, len(o.driver) <= 63 && len(validation.IsDNS1123Subdomain(o.driver)) == 0, "a DNS name of at most 63 characters"),
		valid("--access-class", o.accessClass, o.accessClass == "" || len(validation.IsDNS1123Subdomain(o.accessClass)) == 0, "the name of an object"),
		valid("the bucket ID", o.id, o.id != "" && strings.Trim(o.id, idCharacters) == "", "letters, digits, dots, dashes, underscores and slashes"),
		valid("--protocol", "", len(o.protocols) > 0, "S3, Azure or GCS"),
		valid("the name of the Bucket", bucket, len(bucket) <= 253, "at most 253 characters long; use a shorter name for the claim"),
	); err != nil {
		return nil, err
	}
	var protocols []cosiapi.Protocol
	for _, text := range o.protocols {
		protocol := cosiapi.Protocol(text)
		if err := valid("--protocol", text, slices.Contains([]cosiapi.Protocol{cosiapi.ProtocolS3, cosiapi.ProtocolAzure, cosiapi.ProtocolGCS}, protocol), "S3, Azure or GCS"); err != nil {
			return nil, err
		}
		protocols = append(protocols, protocol)
	}
	types := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: cosiapi.GroupVersion().String(), Kind: kind}
	}
	objects := []any{
		&cosiapi.Bucket{
			TypeMeta: types("Bucket"), ObjectMeta: metav1.ObjectMeta{Name: bucket},
			Spec: cosiapi.BucketSpec{
				DriverName: o.driver, DeletionPolicy: cosiapi.DeletionPolicyRetain, Protocols: protocols, ExistingBucketID: o.id,
				BucketClaimRef: cosiapi.BucketClaimReference{Namespace: namespace, Name: name},
			},
		},
		&cosiapi.BucketClaim{
			TypeMeta: types("BucketClaim"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: cosiapi.BucketClaimSpec{ExistingBucketName: bucket, Protocols: protocols},
		},
	}
	if o.accessClass == "" {
		return objects, nil
	}
	mode := cosiapi.BucketAccessMode(o.accessMode)
	modes := []cosiapi.BucketAccessMode{cosiapi.BucketAccessModeReadWrite, cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly}
	if err := valid("--access-mode", o.accessMode, slices.Contains(modes, mode), "ReadWrite, ReadOnly or WriteOnly"); err != nil {
		return nil, err
	}
	return append(objects, &cosiapi.BucketAccess{
		TypeMeta: types("BucketAccess"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: o.accessClass, Protocol: protocols[0],
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: name, AccessSecretName: name, AccessModes: cosiapi.BucketAccessModes{ObjectData: mode},
			}},
		},
	}), nil
}

// idCharacters are the valid characters of a bucket ID.
const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-"

// valid returns an error for an invalid value.
func valid(what, value string, ok bool, want string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%s: %q is not %s", what, value, want)
}
