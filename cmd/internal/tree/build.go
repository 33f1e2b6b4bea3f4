// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reasons"
)

// A Root identifies the root object of a tree.
type Root struct {
	// Kind is BucketClaim, BucketAccess or Bucket.
	Kind            string
	Namespace, Name string
}

// Kinds of roots.
const (
	KindClaim  = "BucketClaim"
	KindAccess = "BucketAccess"
	KindBucket = "Bucket"
	KindSecret = "Secret"
)

// Build returns the tree of each root. Without roots, it returns a tree for each claim, for each access that
// uses none of the claims, and for each Bucket whose claim no longer exists. For a root that does not exist,
// it returns a node with that status.
func Build(o *Objects, roots ...Root) []*Node {
	b := builder{Objects: o, using: map[client.ObjectKey][]*cosiapi.BucketAccess{}}
	for key, access := range o.Accesses {
		for _, c := range access.Spec.BucketClaims {
			claim := client.ObjectKey{Namespace: key.Namespace, Name: c.BucketClaimName}
			b.using[claim] = append(b.using[claim], access)
		}
	}
	if len(roots) == 0 {
		roots = b.roots()
	}
	nodes := make([]*Node, 0, len(roots))
	for _, root := range roots {
		key := client.ObjectKey{Namespace: root.Namespace, Name: root.Name}
		switch root.Kind {
		case KindClaim:
			nodes = append(nodes, b.claim(key, true))
		case KindAccess:
			nodes = append(nodes, b.accessRoot(key))
		default:
			nodes = append(nodes, b.bucketRoot(root.Name))
		}
	}
	return nodes
}

type builder struct {
	*Objects

	// using maps claims to the accesses that use them.
	using map[client.ObjectKey][]*cosiapi.BucketAccess
}

// roots returns all claims, the accesses of which no claim exists, and the Buckets without a claim that need
// attention.
func (b builder) roots() []Root {
	var all []Root
	for key := range b.Claims {
		all = append(all, Root{Kind: KindClaim, Namespace: key.Namespace, Name: key.Name})
	}
	for key, access := range b.Accesses {
		if !slices.ContainsFunc(access.Spec.BucketClaims, func(c cosiapi.BucketClaimAccess) bool {
			return b.Claims[client.ObjectKey{Namespace: key.Namespace, Name: c.BucketClaimName}] != nil
		}) {
			all = append(all, Root{Kind: KindAccess, Namespace: key.Namespace, Name: key.Name})
		}
	}
	for name, bucket := range b.Buckets {
		ref := bucket.Spec.BucketClaimRef
		claim := b.Claims[client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}]
		gone := ref.UID != "" && (claim == nil || claim.UID != ref.UID)
		if n := b.bucket(name); gone && (n.Deleted != nil || n.State == Failed) {
			all = append(all, Root{Kind: KindBucket, Name: name})
		}
	}
	slices.SortFunc(all, func(x, y Root) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(y.Kind, x.Kind), cmp.Compare(x.Name, y.Name))
	})
	return all
}

// claim returns the tree of a claim: its Bucket and, if requested, the accesses that use it.
func (b builder) claim(key client.ObjectKey, withAccesses bool) *Node {
	claim := b.Claims[key]
	if claim == nil {
		return b.absent(KindClaim, key, "Create it, or correct the name. To list claims, run kubectl get bucketclaims.")
	}
	n := node(KindClaim, claim, claim.Status.Conditions)
	n.detail("class", claim.Spec.BucketClassName)
	n.detail("protocols", list(claim.Status.Protocols))
	driver := b.classDriver(claim)
	if name := bucketName(claim); name != "" {
		bucket := b.bucket(name)
		if n.State == Waiting && bucket.Status == reasons.NotFound { // the claim already reports that it waits for the Bucket
			bucket.State, bucket.Do = Waiting, ""
		}
		n.Children = append(n.Children, bucket)
		if known := b.Buckets[name]; known != nil {
			bucket.Children, driver = append(bucket.Children, b.driver(known.Spec.DriverName, sidecarHasSeen(known.Status.Conditions))), ""
		}
	}
	if driver != "" {
		n.Children = append(n.Children, b.driver(driver, sidecarHasSeen(claim.Status.Conditions)))
	}
	if withAccesses {
		for _, access := range b.accessesOf(key) {
			child := b.access(access)
			child.Children = append(child.Children, b.secrets(access)...)
			n.Children = append(n.Children, child)
		}
	}
	return n
}

// bucketName returns the name of a claim's Bucket, which may not exist yet.
func bucketName(claim *cosiapi.BucketClaim) string {
	return cmp.Or(claim.Status.BoundBucketName, claim.Spec.ExistingBucketName)
}

// classDriver returns the driver of the claim's class, or an empty string if it is unknown.
func (b builder) classDriver(claim *cosiapi.BucketClaim) string {
	if class := b.BucketClasses[claim.Spec.BucketClassName]; class != nil {
		return class.Spec.DriverName
	}
	return ""
}

func (b builder) accessesOf(claim client.ObjectKey) []*cosiapi.BucketAccess {
	using := b.using[claim]
	slices.SortFunc(using, func(x, y *cosiapi.BucketAccess) int { return cmp.Compare(x.Name, y.Name) })
	return using
}

func (b builder) access(access *cosiapi.BucketAccess) *Node {
	n := node(KindAccess, access, access.Status.Conditions)
	n.detail("class", access.Spec.BucketAccessClassName)
	n.detail("protocol", string(access.Spec.Protocol))
	n.detail("authentication", string(access.Status.AuthenticationType))
	n.detail("service account", access.Spec.ServiceAccountName)
	n.detail("account", access.Status.AccountID)
	return n
}

// accessRoot returns the tree of an access, with claims and driver before Secrets.
func (b builder) accessRoot(key client.ObjectKey) *Node {
	access := b.Accesses[key]
	if access == nil {
		return b.absent(KindAccess, key, "Create it, or correct the name. To list accesses, run kubectl get bucketaccesses.")
	}
	n := b.access(access)
	for _, c := range access.Spec.BucketClaims {
		claim := b.claim(client.ObjectKey{Namespace: key.Namespace, Name: c.BucketClaimName}, false)
		if n.State == Waiting && claim.Status == reasons.NotFound { // the access already reports that it waits for the claim
			claim.State = Waiting
		}
		n.Children = append(n.Children, claim)
	}
	n.Children = append(n.Children, b.secrets(access)...)
	driver := access.Status.DriverName
	if class := b.AccessClasses[access.Spec.BucketAccessClassName]; driver == "" && class != nil {
		driver = class.Spec.DriverName
	}
	Walk(n.Children, func(c *Node) {
		if c.Kind == KindDriver && c.Name == driver { // already shown below a Bucket
			driver = ""
		}
	})
	if driver != "" {
		n.Children = append(n.Children, b.driver(driver, sidecarHasSeen(access.Status.Conditions)))
	}
	return n
}

func (b builder) bucket(name string) *Node {
	bucket := b.Buckets[name]
	if bucket == nil {
		return b.absent(KindBucket, client.ObjectKey{Name: name}, "An administrator must find out why it does not exist.")
	}
	n := node(KindBucket, bucket, bucket.Status.Conditions)
	n.detail("driver", bucket.Spec.DriverName)
	n.detail("bucket ID", bucket.Status.BucketID)
	n.detail("deletion policy", string(bucket.Spec.DeletionPolicy))
	n.detail("imported as", bucket.Spec.ExistingBucketID)
	return n
}

// bucketRoot returns the tree of a Bucket: its claim with the accesses, and its driver.
func (b builder) bucketRoot(name string) *Node {
	n := b.bucket(name)
	bucket := b.Buckets[name]
	if bucket == nil {
		return n
	}
	ref := bucket.Spec.BucketClaimRef
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	claim := b.claim(key, true)
	if claim.Status == reasons.NotFound && n.Deleted != nil { // expected while the Bucket is terminating
		claim.State, claim.Do = Good, ""
	}
	if known := b.Claims[key]; known != nil {
		claim.Children = slices.DeleteFunc(claim.Children, func(c *Node) bool { return c.Kind == KindBucket || c.Kind == KindDriver })
	}
	n.Children = append(n.Children, claim, b.driver(bucket.Spec.DriverName, sidecarHasSeen(bucket.Status.Conditions)))
	return n
}

// secrets returns the Secrets of an access.
func (b builder) secrets(access *cosiapi.BucketAccess) []*Node {
	nodes := make([]*Node, 0, len(access.Spec.BucketClaims))
	for _, c := range access.Spec.BucketClaims {
		key := client.ObjectKey{Namespace: access.Namespace, Name: c.AccessSecretName}
		secret := b.Secrets[key]
		if secret == nil {
			n := b.absent(KindSecret, key, "")
			if n.Status == reasons.NotFound { // the access says what to do
				n.State = Waiting
			}
			nodes = append(nodes, n)
			continue
		}
		n := &Node{Kind: KindSecret, Namespace: key.Namespace, Name: key.Name, State: Good, Status: reasons.Filled, Created: &secret.Created}
		switch {
		case secret.Owner != access.UID:
			n.State, n.Status = Failed, reasons.Taken
			n.Message = "It does not belong to this BucketAccess."
		case len(secret.Keys) == 0:
			n.State, n.Status = Waiting, reasons.Empty
		}
		n.detail("keys", list(secret.Keys))
		nodes = append(nodes, n)
	}
	return nodes
}

// absent returns a node for an object that does not exist or that the user may not read.
func (b builder) absent(kind string, key client.ObjectKey, do string) *Node {
	n := &Node{Kind: kind, Namespace: key.Namespace, Name: key.Name}
	if why := b.Unread[kind]; why != "" {
		n.State, n.Status, n.Message = Unknown, reasons.Unreadable, why
		return n
	}
	n.State, n.Status, n.Message, n.Do = Failed, reasons.NotFound, "It does not exist.", do
	return n
}
