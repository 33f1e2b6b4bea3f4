// SPDX-License-Identifier: Apache-2.0

// Package policy turns the access modes of COSI into IAM policy documents. It is pure: no calls, no
// clock, and the same request always gives the same bytes.
package policy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Direction says whether a category is read, written, both or neither.
type Direction uint8

// The directions of access. ReadWrite is their union.
const (
	Read Direction = 1 << iota
	Write
)

// DirectionOf answers what a mode asks for. A category that the user left open asks for nothing.
func DirectionOf(mode driverkit.Mode) Direction {
	switch mode {
	case driverkit.ReadWrite:
		return Read | Write
	case driverkit.ReadOnly:
		return Read
	case driverkit.WriteOnly:
		return Write
	default:
		return 0
	}
}

// Access is the direction of each category of what a bucket holds.
type Access struct {
	ObjectData     Direction
	ObjectMetadata Direction
	BucketMetadata Direction
	// NoDelete leaves out the deletion of objects from writing.
	NoDelete bool
}

// Bucket is one bucket of an account.
type Bucket struct {
	// Name is the bucket's name at the store.
	Name string
	// Access is what the account may do with it.
	Access Access
	// KMSKey is the ARN of the key that encrypts the bucket; empty without one of its own.
	KMSKey string
}

// Modes are the access modes that the document of Build can express.
func Modes() driverkit.Modes {
	all := []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly}
	return driverkit.Modes{
		ObjectData:     all,
		ObjectMetadata: all,
		BucketMetadata: []driverkit.Mode{driverkit.ReadOnly},
	}
}

// Check answers why S3 cannot grant this combination, or nil. S3 authorises user-defined metadata
// with the object itself: HeadObject needs s3:GetObject, and metadata is written by s3:PutObject.
func (a Access) Check() error {
	switch {
	case a.BucketMetadata&Write != 0:
		return errors.New("bucket metadata cannot be written: S3 replaces the whole tag set of a bucket, which holds the mark of its owner; supported is ReadOnly")
	case a.ObjectMetadata&Read != 0 && a.ObjectData&Read == 0:
		return errors.New("object metadata cannot be read without object data: S3 authorises both by s3:GetObject; ask for object data ReadOnly or ReadWrite too")
	case a.ObjectMetadata&Write != 0 && a.ObjectData&Write == 0:
		return errors.New("object metadata cannot be written without object data: S3 authorises both by s3:PutObject; ask for object data WriteOnly or ReadWrite too")
	case a.ObjectData|a.ObjectMetadata|a.BucketMetadata == 0:
		return errors.New("no access mode is asked for; ask for at least one")
	}
	return nil
}

// objectActions answers the actions on objects that the access needs.
func (a Access) objectActions() []string {
	var actions []string
	if a.ObjectData&Read != 0 {
		actions = append(actions, "s3:GetObject", "s3:GetObjectVersion")
	}
	if a.ObjectData&Write != 0 {
		actions = append(actions, "s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
		if !a.NoDelete {
			actions = append(actions, "s3:DeleteObject")
		}
	}
	if a.ObjectMetadata&Read != 0 {
		actions = append(actions, "s3:GetObjectTagging", "s3:GetObjectVersionTagging", "s3:GetObjectAttributes",
			"s3:GetObjectRetention", "s3:GetObjectLegalHold")
	}
	if a.ObjectMetadata&Write != 0 {
		actions = append(actions, "s3:PutObjectTagging", "s3:PutObjectVersionTagging", "s3:DeleteObjectTagging",
			"s3:DeleteObjectVersionTagging")
	}
	slices.Sort(actions)
	return actions
}

// bucketActions answers the actions on the bucket itself that the access needs. Whoever reads
// objects may list them: without, a missing object is refused instead of not found. The location is
// what clients ask first.
func (a Access) bucketActions() []string {
	var actions []string
	if a.ObjectData&Read != 0 {
		actions = append(actions, "s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketVersions")
	}
	if a.ObjectData&Write != 0 {
		actions = append(actions, "s3:GetBucketLocation", "s3:ListBucketMultipartUploads")
	}
	if a.BucketMetadata&Read != 0 {
		actions = append(actions, "s3:GetBucketLocation", "s3:GetBucketTagging", "s3:GetBucketVersioning",
			"s3:GetEncryptionConfiguration", "s3:GetLifecycleConfiguration", "s3:GetBucketCORS",
			"s3:GetBucketObjectLockConfiguration", "s3:GetBucketOwnershipControls", "s3:GetBucketPublicAccessBlock")
	}
	slices.Sort(actions)
	return slices.Compact(actions)
}

// keyActions answers the KMS actions without which the credential could not use an encrypted
// bucket. Writing needs decryption too: each part of a multipart upload is read back with the key.
func (a Access) keyActions() []string {
	switch {
	case a.ObjectData&Write != 0:
		return []string{"kms:Decrypt", "kms:GenerateDataKey"}
	case a.ObjectData&Read != 0:
		return []string{"kms:Decrypt"}
	default:
		return nil
	}
}

// KMSResource answers the ARN by which a policy names the key of a bucket, which the bucket may name
// by its ID alone. That key is in the bucket's region, and its own policy decides which AWS account
// it serves. The key of an alias can be exchanged, so a policy cannot name one.
func KMSResource(partition, region, key string) (string, error) {
	switch {
	case strings.Contains(key, "alias/"):
		return "", driverkit.FailedPrecondition("the bucket is encrypted with the key of %q, but permissions cannot name an alias; set the ID or ARN of the key as the bucket's default encryption", key)
	case key == "" || strings.HasPrefix(key, "arn:"):
		return key, nil
	}
	return "arn:" + partition + ":kms:" + region + ":*:key/" + key, nil
}

type document struct {
	Version   string      `json:"Version"`
	Statement []statement `json:"Statement"`
}

type statement struct {
	Sid      string   `json:"Sid,omitempty"`
	Effect   string   `json:"Effect"`
	Action   []string `json:"Action"`
	Resource []string `json:"Resource"`
}

// Dialect is how a store differs in its policies.
type Dialect struct {
	// Partition is the second part of ARNs, such as "aws".
	Partition string
	// Without lists actions that the store does not know, and would refuse the document for.
	Without []string
	// Mark, if set, becomes the ID of the first statement: letters and digits.
	Mark string
}

// Build answers the policy document, without white space, that allows exactly the given access.
// Buckets with equal access share their statements.
func Build(dialect Dialect, buckets []Bucket) (string, error) {
	doc := document{Version: "2012-10-17"}
	for _, group := range groupBy(buckets, func(b Bucket) Access { return b.Access }, compareAccess) {
		var objects, names []string
		for _, bucket := range group.buckets {
			arn := "arn:" + dialect.Partition + ":s3:::" + bucket.Name
			names = append(names, arn)
			objects = append(objects, arn+"/*")
		}
		doc.allow(dialect.known(group.key.objectActions()), objects)
		doc.allow(dialect.known(group.key.bucketActions()), names)
	}
	doc.allowKeys(buckets)
	if len(doc.Statement) > 0 {
		doc.Statement[0].Sid = dialect.Mark
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("build the policy of %d buckets: %w", len(buckets), err)
	}
	return string(text), nil
}

func (d Dialect) known(actions []string) []string {
	return slices.DeleteFunc(actions, func(action string) bool { return slices.Contains(d.Without, action) })
}

func (d *document) allow(actions, resources []string) {
	if len(actions) == 0 || len(resources) == 0 {
		return
	}
	slices.Sort(resources)
	d.Statement = append(d.Statement, statement{Effect: "Allow", Action: actions, Resource: slices.Compact(resources)})
}

func (d *document) allowKeys(buckets []Bucket) {
	encrypted := slices.DeleteFunc(slices.Clone(buckets), func(b Bucket) bool { return b.KMSKey == "" })
	byActions := groupBy(encrypted, func(b Bucket) string { return strings.Join(b.Access.keyActions(), ",") }, cmp.Compare[string])
	for _, group := range byActions {
		var keys []string
		for _, bucket := range group.buckets {
			keys = append(keys, bucket.KMSKey)
		}
		d.allow(group.buckets[0].Access.keyActions(), keys)
	}
}

type group[K any] struct {
	key     K
	buckets []Bucket
}

// groupBy groups buckets by equal keys, with both groups and buckets in a fixed order.
func groupBy[K comparable](buckets []Bucket, key func(Bucket) K, compare func(a, b K) int) []group[K] {
	byKey := map[K][]Bucket{}
	for _, bucket := range buckets {
		byKey[key(bucket)] = append(byKey[key(bucket)], bucket)
	}
	var groups []group[K]
	for k, members := range byKey {
		slices.SortFunc(members, func(a, b Bucket) int { return cmp.Compare(a.Name, b.Name) })
		groups = append(groups, group[K]{key: k, buckets: members})
	}
	slices.SortFunc(groups, func(a, b group[K]) int { return compare(a.key, b.key) })
	return groups
}

func compareAccess(a, b Access) int {
	return cmp.Or(
		cmp.Compare(a.ObjectData, b.ObjectData),
		cmp.Compare(a.ObjectMetadata, b.ObjectMetadata),
		cmp.Compare(a.BucketMetadata, b.BucketMetadata),
		compareBool(a.NoDelete, b.NoDelete),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
