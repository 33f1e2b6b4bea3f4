// SPDX-License-Identifier: Apache-2.0

// Package policy turns the access modes of COSI into IAM policy documents. It is pure: no calls, no
// clock, and the same request always gives the same bytes.
package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Bucket is one bucket of an account.
type Bucket struct {
	// Name is the bucket's name at the store.
	Name string
	// Access is what the account may do with it.
	Access Access
	// KMSKey is the ARN of the key that encrypts the bucket; empty without one of its own.
	KMSKey string
}

// KMSResource returns the ARN by which a policy names the key of a bucket, which the bucket may name
// by its ID alone: that is a key of the AWS account, if it is known. The key of an alias can be exchanged, so a policy
// cannot name one. Whoever configures a bucket writes the name, and S3 does not look at it: what is more than the name of
// one key, such as a pattern, is refused.
func KMSResource(partition, region, account, key string) (string, error) {
	switch {
	case key == "":
		return "", nil
	case strings.Contains(key, "alias/"):
		return "", driverkit.FailedPrecondition("the bucket is encrypted with the key of %q, but permissions cannot name an alias; set the ID or ARN of the key as the bucket's default encryption", key)
	case keyID.MatchString(key):
		return "arn:" + partition + ":kms:" + region + ":" + cmp.Or(account, "*") + ":key/" + key, nil
	}
	if parts := strings.SplitN(key, ":", 6); len(parts) != 6 || parts[1] != partition || parts[2] != "kms" || parts[3] != region ||
		!keyOwner.MatchString(parts[4]) || !keyID.MatchString(strings.TrimPrefix(parts[5], "key/")) {
		return "", driverkit.FailedPrecondition("the bucket is encrypted with %q, which is not the name of a key in %s, and permissions for it are not given; set the ID or ARN of a key as the bucket's default encryption", key, region)
	}
	return key, nil
}

var (
	keyID    = regexp.MustCompile(`^[\w.-]+$`)
	keyOwner = regexp.MustCompile(`^\d+$`)
)

type document struct {
	Version   string      `json:"Version"`
	Statement []statement `json:"Statement"`
}

type statement struct {
	Sid      string   `json:"Sid,omitempty"`
	Effect   string   `json:"Effect"`
	Action   []string `json:"Action"`
	Resource []string `json:"Resource,omitempty"`
	// NotResource, in the place of Resource, is everything but these.
	NotResource []string `json:"NotResource,omitempty"`
	// Condition has the values that are accepted by operator and key.
	Condition condition `json:"Condition,omitempty"`
}

type condition map[string]map[string][]string

// noSessions denies S3 to sessions, which alone have a time of issue. It is a date and not Null that asks for it:
// Ceph RGW reads any Null as true for a key that is absent, and would deny the keys everything. It leaves KMS out, which
// S3 asks for the user by what may be a session, too ("Forward access sessions").
func noSessions() statement {
	return statement{
		Effect: "Deny", Action: []string{"s3:*"}, Resource: []string{"*"},
		Condition: condition{"DateGreaterThan": {"aws:TokenIssueTime": {"1970-01-01T00:00:00Z"}}},
	}
}

// Dialect is how a store differs in its policies.
type Dialect struct {
	// Partition is the second part of ARNs, such as "aws".
	Partition string
	// Account is the number of the AWS account that has the buckets; empty for a store that knows no such conditions.
	// With it the policy ends where a bucket is another account's, as one is that was deleted and made again by somebody,
	// and a key can be used by S3 for objects of these buckets alone.
	Account string
	// Without lists actions that the store does not know, and would refuse the document for.
	Without []string
	// Denied lists the actions on objects that are denied wherever they are not allowed, for a store where whoever wrote an
	// object may do everything with it.
	Denied []string
	// Elsewhere denies them in all other buckets, too, for a store where an object's writer may let others do so by its ACL.
	// It is for the policy of an account: that of a bucket speaks of no other.
	Elsewhere bool
	// DeletesAtBucket says that the store asks at the bucket, too, whether several objects may be deleted by one call.
	DeletesAtBucket bool
	// Mark, if set, becomes the ID of the first statement: letters and digits.
	Mark string
	// NoSessions denies the account's own sessions the use of S3. AWS gives any user one without asking a policy, and it
	// outlives the key that it was asked for with.
	NoSessions bool
}

// Build returns the policy document, without white space, that allows exactly the given access.
// Buckets with equal access share their statements.
func Build(dialect Dialect, buckets []Bucket) (string, error) {
	doc := document{Version: "2012-10-17"}
	var granted []string
	for _, group := range groupBy(buckets, func(b Bucket) Access { return b.Access }, compareAccess) {
		var objects, names []string
		for _, bucket := range group.buckets {
			arn := "arn:" + dialect.Partition + ":s3:::" + bucket.Name
			names = append(names, arn)
			objects = append(objects, arn+"/*")
		}
		doc.allow(dialect.known(group.key.objectActions()), objects, dialect.inAccount())
		doc.allow(dialect.known(dialect.atBucket(group.key)), names, dialect.inAccount())
		doc.deny(dialect.notAllowed(group.key.objectActions()), objects)
		granted = append(granted, slices.Concat(names, objects)...)
	}
	if dialect.Elsewhere {
		doc.denyElsewhere(dialect.Denied, granted)
	}
	doc.allowKeys(dialect, buckets)
	if dialect.NoSessions {
		doc.Statement = append(doc.Statement, noSessions())
	}
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

// atBucket returns the actions on the bucket itself that the access needs.
func (d Dialect) atBucket(access Access) []string {
	actions := access.bucketActions()
	if d.DeletesAtBucket && slices.Contains(access.objectActions(), deleteObject) {
		actions = append(actions, deleteObject)
	}
	return actions
}

func (d Dialect) notAllowed(actions []string) []string {
	return slices.DeleteFunc(slices.Clone(d.Denied), func(action string) bool { return slices.Contains(actions, action) })
}

func (d Dialect) inAccount() condition {
	if d.Account == "" {
		return nil
	}
	return condition{"StringEquals": {"aws:ResourceAccount": {d.Account}}}
}

// byS3 lets keys be used by S3 in their regions, for the buckets and what is in them: S3 names the object to the key, or
// the bucket where that has a key of its own ("kms:EncryptionContext" and "kms:ViaService" in the AWS KMS guide).
func (d Dialect) byS3(buckets []Bucket) condition {
	if d.Account == "" {
		return nil
	}
	var services, contexts []string
	for _, bucket := range buckets {
		// The domain is another one in some partitions. Nobody but AWS can be a caller whose name begins like this.
		services = append(services, "s3."+strings.Split(bucket.KMSKey, ":")[3]+".amazonaws.com*")
		arn := "arn:" + d.Partition + ":s3:::" + bucket.Name
		contexts = append(contexts, arn, arn+"/*")
	}
	slices.Sort(services)
	return condition{"StringLike": {"kms:ViaService": slices.Compact(services), "kms:EncryptionContext:aws:s3:arn": contexts}}
}

func (d *document) allow(actions, resources []string, when condition) {
	if len(actions) == 0 || len(resources) == 0 {
		return
	}
	slices.Sort(resources)
	d.Statement = append(d.Statement, statement{Effect: "Allow", Action: actions, Resource: slices.Compact(resources), Condition: when})
}

func (d *document) deny(actions, resources []string) {
	if len(actions) > 0 {
		d.Statement = append(d.Statement, statement{Effect: "Deny", Action: actions, Resource: slices.Compact(resources)})
	}
}

func (d *document) denyElsewhere(actions, granted []string) {
	if len(actions) > 0 {
		slices.Sort(granted)
		d.Statement = append(d.Statement, statement{Effect: "Deny", Action: actions, NotResource: slices.Compact(granted)})
	}
}

func (d *document) allowKeys(dialect Dialect, buckets []Bucket) {
	encrypted := slices.DeleteFunc(slices.Clone(buckets), func(b Bucket) bool { return b.KMSKey == "" })
	byActions := groupBy(encrypted, func(b Bucket) string { return strings.Join(b.Access.keyActions(), ",") }, cmp.Compare[string])
	for _, group := range byActions {
		var keys []string
		for _, bucket := range group.buckets {
			keys = append(keys, bucket.KMSKey)
		}
		d.allow(group.buckets[0].Access.keyActions(), keys, dialect.byS3(group.buckets))
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
