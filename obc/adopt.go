// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"context"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// Adoption describes how to move the claims of another provisioner to COSI.
type Adoption struct {
	// StorageClass is the StorageClass of the other provisioner. Namespace and Name, if set, restrict the plan to
	// matching claims.
	StorageClass, Namespace, Name string
	// AccessClass is the BucketAccessClass of the new credentials. The driver of this class serves the buckets after
	// the migration.
	AccessClass string
	// IDPrefix is prepended to the bucket name to get the driver's bucket ID.
	IDPrefix string
	// Suffix is appended to the name of the old claim. The result is the name of the new claim, its Secret and its
	// ConfigMap.
	Suffix string
}

// Plan writes the steps that migrate claims to COSI: comments for the administrator and the manifests to apply. It only
// reads from the API server. It marks the steps that are already done, so users can run it again at any time.
func Plan(ctx context.Context, config *rest.Config, a Adoption, to io.Writer) error {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return fmt.Errorf("create the plan: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("cannot reach the API server at %s: %w", config.Host, err)
	}
	access := &cosiapi.BucketAccessClass{}
	found, err := read(ctx, c, "", a.AccessClass, access)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("there is no BucketAccessClass %q: create it first", a.AccessClass)
	}
	claims := &objectbucket.ObjectBucketClaimList{}
	if err := c.List(ctx, claims, client.InNamespace(a.Namespace)); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	planned := 0
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Spec.StorageClassName != a.StorageClass || a.Name != "" && claim.Name != a.Name {
			continue
		}
		planned++
		m, err := a.survey(ctx, c, claim, access)
		if err != nil {
			return err
		}
		if err := m.write(to); err != nil {
			return err
		}
	}
	if planned == 0 {
		return fmt.Errorf("no ObjectBucketClaim of StorageClass %q was found: check --from, --namespace and --name", a.StorageClass)
	}
	return nil
}

// A move is the state of one claim and the objects to create for it.
type move struct {
	claim   *objectbucket.ObjectBucketClaim
	bucket  *objectbucket.ObjectBucket
	storage *storagev1.StorageClass
	made    *objectbucket.ObjectBucketClaim
	// has is the new claim as it exists in the cluster, or nil.
	has *objectbucket.ObjectBucketClaim
	// skip is the reason why this claim cannot be planned.
	skip string
}

// survey collects the state of one claim.
func (a Adoption) survey(ctx context.Context, reader client.Reader, claim *objectbucket.ObjectBucketClaim, access *cosiapi.BucketAccessClass) (move, error) {
	m := move{claim: claim}
	bucket, has := &objectbucket.ObjectBucket{}, &objectbucket.ObjectBucketClaim{}
	found, err := read(ctx, reader, "", claim.Spec.ObjectBucketName, bucket)
	switch {
	case claim.Spec.ObjectBucketName == "" || claim.Status.Phase != objectbucket.PhaseBound:
		m.skip = "it is not bound"
		return m, nil
	case err != nil:
		return m, err
	case !found || !isOf(bucket, claim): // which the claim's user could write into it
		m.skip = fmt.Sprintf("ObjectBucket %q does not belong to this claim", claim.Spec.ObjectBucketName)
		return m, nil
	case bucket.Spec.Endpoint == nil || bucket.Spec.Endpoint.BucketName == "":
		m.skip = fmt.Sprintf("ObjectBucket %q has no bucket name", claim.Spec.ObjectBucketName)
		return m, nil
	}
	if _, ours := decisionOf(bucket); ours {
		m.skip = "COSI already serves this claim"
		return m, nil
	}
	m.bucket = bucket
	m.storage, m.made = a.manifests(claim, bucket, access)
	if found, err = read(ctx, reader, m.made.Namespace, m.made.Name, has); found {
		m.has = has
	}
	return m, err
}

// isOf reports whether an ObjectBucket was created for a claim. Only provisioners and administrators write
// ObjectBuckets.
func isOf(bucket *objectbucket.ObjectBucket, claim *objectbucket.ObjectBucketClaim) bool {
	ref := bucket.Spec.ClaimRef
	return ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name && (ref.UID == "" || ref.UID == claim.UID)
}

// manifests returns the StorageClass of one bucket, which only the claim's namespace may use, and the new claim. A
// namespace name contains no dot, so two claims never share the name of a StorageClass.
func (a Adoption) manifests(claim *objectbucket.ObjectBucketClaim, bucket *objectbucket.ObjectBucket, access *cosiapi.BucketAccessClass) (*storagev1.StorageClass, *objectbucket.ObjectBucketClaim) {
	storage := &storagev1.StorageClass{
		TypeMeta:    metav1.TypeMeta{APIVersion: storagev1.SchemeGroupVersion.String(), Kind: "StorageClass"},
		ObjectMeta:  metav1.ObjectMeta{Name: "cosi." + claim.Namespace + "." + claim.Name},
		Provisioner: access.Spec.DriverName + objectbucket.ProvisionerSuffix,
		Parameters: map[string]string{
			paramBucket: a.IDPrefix + bucket.Spec.Endpoint.BucketName, paramAccessClass: access.Name, paramNamespaces: claim.Namespace,
		},
		ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimRetain),
	}
	made := &objectbucket.ObjectBucketClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: objectbucket.GroupVersion().String(), Kind: "ObjectBucketClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name + a.Suffix},
		Spec:       objectbucket.ObjectBucketClaimSpec{StorageClassName: storage.Name},
	}
	return storage, made
}

// write prints the plan of one claim.
func (m move) write(to io.Writer) error {
	name := m.claim.Namespace + "/" + m.claim.Name
	if m.skip != "" {
		_, err := fmt.Fprintf(to, "# %s is skipped: %s.\n", name, m.skip)
		return err //nolint:wrapcheck // standard output
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# %s has bucket %q.\n", name, m.bucket.Spec.Endpoint.BucketName)
	fmt.Fprintf(&text, "# 1. %sPrevent the old provisioner from deleting the bucket:\n", done(m.bucket.Spec.ReclaimPolicy == string(corev1.PersistentVolumeReclaimRetain)))
	fmt.Fprintf(&text, "#      kubectl patch objectbuckets.objectbucket.io %s --type=merge -p '{\"spec\":{\"reclaimPolicy\":\"Retain\"}}'\n", m.bucket.Name)
	fmt.Fprintf(&text, "# 2. %sApply the manifests below, and wait until claim %q is bound.\n", done(m.has != nil && m.has.Status.Phase == objectbucket.PhaseBound), m.made.Name)
	fmt.Fprintf(&text, "# 3. Configure applications to read Secret and ConfigMap %q instead of %q. The old credential keeps working.\n", m.made.Name, m.claim.Name)
	text.WriteString("# 4. When step 1 is done and no application uses the old claim, delete it manually:\n")
	fmt.Fprintf(&text, "#      kubectl -n %s delete objectbucketclaims.objectbucket.io %s\n", m.claim.Namespace, m.claim.Name)
	for _, object := range []client.Object{m.storage, m.made} {
		manifest, err := reconciler.Manifest(object)
		if err != nil {
			return fmt.Errorf("write the manifests: %w", err)
		}
		text.WriteString("---\n" + manifest)
	}
	text.WriteString("---\n")
	_, err := io.WriteString(to, text.String())
	return err
}

func done(is bool) string {
	if is {
		return "(done) "
	}
	return ""
}
