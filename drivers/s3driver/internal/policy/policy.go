// SPDX-License-Identifier: Apache-2.0

// Package policy translates the access modes of COSI into IAM policy documents. It makes no calls, and the same
// request always gives the same bytes.
package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Bucket is one bucket of an account.
type Bucket struct {
	// Name is the bucket's name at the store.
	Name string
	// Access is the account's access to the bucket.
	Access Access
	// KMSKey is the ARN of the key that encrypts the bucket, or empty if it has no key of its own.
	KMSKey string
}

// KMSResource returns the ARN with which a policy names the key of a bucket. If the bucket names its key by ID alone,
// the key belongs to the AWS account, if the account is known. KMSResource rejects aliases, because the key of an
// alias can be replaced. It also rejects everything else that is not the name of one key, such as a pattern: anyone
// who can configure the bucket can set the name, and S3 does not validate it.
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
		return "", driverkit.FailedPrecondition("the bucket is encrypted with %q, which is not the name of a key in %s, so the driver cannot grant permissions for it; set the ID or ARN of a key as the bucket's default encryption", key, region)
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
	// NotResource, instead of Resource, means everything except these.
	NotResource []string `json:"NotResource,omitempty"`
	// Condition maps operators and keys to the accepted values.
	Condition condition `json:"Condition,omitempty"`
}

type condition map[string]map[string][]string

// noSessions returns the statement that denies S3 to sessions, which are the only callers with an issue time. The
// condition compares with a date instead of using Null, because Ceph RGW evaluates any Null as true for an absent
// key, which would deny everything to the keys. KMS is not denied, because S3 may call it on the user's behalf with a
// session ("Forward access sessions").
func noSessions() statement {
	return statement{
		Effect: "Deny", Action: []string{"s3:*"}, Resource: []string{"*"},
		Condition: condition{"DateGreaterThan": {"aws:TokenIssueTime": {"1970-01-01T00:00:00Z"}}},
	}
}

// Dialect describes how a store's policies differ from those of AWS.
type Dialect struct {
	// Partition is the second part of ARNs, such as "aws".
	Partition string
	// Account is the number of the AWS account that owns the buckets, or empty for a store that does not support such
	// conditions. If it is set, the policy does not apply to buckets of other accounts, such as a bucket that was
	// deleted and that another account created again. It also restricts the use of a KMS key to S3, for objects of
	// these buckets.
	Account string
	// Without lists actions that the store does not support. If the document contained them, the store would reject
	// it.
	Without []string
	// Denied lists the actions on objects that the policy denies wherever it does not allow them. It is for a store
	// where the writer of an object has full access to it.
	Denied []string
	// Elsewhere extends Denied to all other buckets. It is for a store where the writer of an object can give others
	// access by its ACL. It applies to policies of accounts, because a bucket policy applies to no other bucket.
	Elsewhere bool
	// DeletesAtBucket means that deleting several objects in one call also needs permission on the bucket.
	DeletesAtBucket bool
	// Mark, if set, becomes the ID of the first statement. AWS accepts only letters and digits.
	Mark string
	// NoSessions denies S3 to the account's own sessions. AWS lets any user create sessions without permission in a
	// policy, and a session can outlive the key that requested it.
	NoSessions bool
}

// Build returns the policy document, without white space, that allows exactly the given access. Buckets with equal
// access share their statements.
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

// byS3 returns the condition that restricts keys to use by S3 in their regions, for the given buckets and their
// contents. S3 passes the object's name to KMS, or the bucket's name if the bucket has a key of its own
// ("kms:EncryptionContext" and "kms:ViaService" in the AWS KMS guide).
func (d Dialect) byS3(buckets []Bucket) condition {
	if d.Account == "" {
		return nil
	}
	var services, contexts []string
	for _, bucket := range buckets {
		// Some partitions use another domain. Only AWS itself can be a caller with this prefix.
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

// groupBy groups buckets by equal keys. The order of groups and buckets is fixed.
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

// Same reports whether two policies are equal apart from the order of lists, and from lists of one string that a store
// returns as a string.
func Same(a, b []byte) bool {
	var one, other any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(canonical(one), canonical(other))
}

// canonical sorts the lists in a policy, and replaces lists of one string by the string.
func canonical(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = canonical(value[key])
		}
	case []any:
		for i := range value {
			value[i] = canonical(value[i])
		}
		if len(value) == 1 {
			if text, isText := value[0].(string); isText {
				return text
			}
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return value
}
