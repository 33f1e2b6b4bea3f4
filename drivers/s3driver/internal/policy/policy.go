// SPDX-License-Identifier: Apache-2.0

// Package policy turns the access modes of COSI into IAM policy documents. It is pure: no calls, no
// clock, and the same request always gives the same bytes.
package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// Build returns the policy document, without white space, that allows exactly the given access.
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
