// SPDX-License-Identifier: Apache-2.0

// Package bucketpolicy edits bucket policies, for stores whose bucket policies define the permissions of accounts. It
// adds and removes the statements for the driver's accounts and preserves all other statements.
//
// One policy document contains the statements for all accounts of a bucket, and S3 cannot update it conditionally. An
// Editor serializes its own changes, but two processes must not edit the policies of one store concurrently.
package bucketpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/internal/keylock"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Editor edits the bucket policies of one store.
type Editor struct {
	// S3 is the client, with the driver's own credentials. Required.
	S3 *s3.Client
	// Dialect describes how the store's policies differ.
	Dialect policy.Dialect
	// Kind of the principals, such as "AWS" for {"AWS": ["..."]}. Empty for principals without a kind: ["..."].
	Kind string
	// Present, if set, returns the existing principals. The next change removes all other principals from the
	// driver's statements. Set it for a store that rejects policies that name a principal that does not exist.
	Present func(ctx context.Context) ([]string, error)

	// locks serializes changes of one bucket's policy.
	locks keylock.Locks
}

// Set gives the principals exactly this access to the bucket. It removes the access of all other principals of the
// same account, which isOf identifies.
func (e *Editor) Set(ctx context.Context, bucket policy.Bucket, principals []string, isOf func(principal string) bool) error {
	return e.edit(ctx, bucket.Name, func(found []statement) ([]statement, error) {
		text, err := policy.Build(e.Dialect, []policy.Bucket{bucket})
		if err != nil {
			return nil, err
		}
		var document struct {
			Statement []statement `json:"Statement"`
		}
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			return nil, fmt.Errorf("build the policy of bucket %s: %w", bucket.Name, err)
		}
		kept, err := e.without(found, isOf)
		for _, ours := range document.Statement {
			if err == nil {
				kept, err = e.add(kept, ours, principals)
			}
		}
		return kept, err
	})
}

// Drop removes all access to the bucket from the principals that isOf identifies. If the bucket does not exist, it
// has no policy, and Drop returns the store's own error.
func (e *Editor) Drop(ctx context.Context, bucket string, isOf func(principal string) bool) error {
	return e.edit(ctx, bucket, func(found []statement) ([]statement, error) { return e.without(found, isOf) })
}

// ourSid matches the IDs of the driver's statements, including those in an older form that were derived from the
// actions alone.
var ourSid = regexp.MustCompile(`^cosi[0-9a-f]{16}$`)

// statement is one statement of a policy, by any author. Statements of others are preserved with all their elements.
type statement = map[string]any

func sidOf(one statement) string {
	text, _ := one["Sid"].(string)
	return text
}

// sid returns the ID of a statement with these contents, apart from its principals; it contains only letters and
// digits. Accounts with equal access share statements, because stores may limit the size of policies.
func sid(ours statement) string {
	says := maps.Clone(ours)
	delete(says, "Sid")
	delete(says, "Principal")
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", normal(says)))
	return "cosi" + hex.EncodeToString(sum[:8])
}

// normal normalizes a value: stores may reorder lists or replace a list by its only element.
func normal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		same := map[string]any{}
		for name, one := range value {
			same[name] = normal(one)
		}
		return same
	case []any:
		texts := make([]string, 0, len(value))
		for _, one := range value {
			texts = append(texts, fmt.Sprint(one))
		}
		slices.Sort(texts)
		return texts
	default:
		return []string{fmt.Sprint(value)}
	}
}

// add adds principals to the equivalent statement, or adds the whole statement if there is none.
func (e *Editor) add(found []statement, ours statement, principals []string) ([]statement, error) {
	id := sid(ours)
	i := slices.IndexFunc(found, func(s statement) bool { return sidOf(s) == id })
	if i < 0 {
		ours["Sid"], ours["Principal"] = id, e.principal(principals)
		return append(found, ours), nil
	}
	if sid(found[i]) != id {
		return nil, driverkit.FailedPrecondition("statement %s of the bucket's policy was created by this driver, but another client changed it; "+
			"remove the statement, and put your changes into a statement with another Sid", id)
	}
	all, err := e.principals(found[i])
	if err != nil {
		return nil, err
	}
	all = append(all, principals...)
	slices.Sort(all)
	found[i]["Principal"] = e.principal(slices.Compact(all))
	return found, nil
}

// without removes principals from the driver's statements, and removes statements that have no principals left.
func (e *Editor) without(found []statement, gone func(principal string) bool) ([]statement, error) {
	var kept []statement
	for _, one := range found {
		if !ourSid.MatchString(sidOf(one)) {
			kept = append(kept, one)
			continue
		}
		ids, err := e.principals(one)
		if err != nil {
			return nil, err
		}
		if ids = slices.DeleteFunc(ids, gone); len(ids) > 0 {
			one["Principal"] = e.principal(ids)
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// principal returns the Principal element for these principals.
func (e *Editor) principal(ids []string) any {
	all := make([]any, 0, len(ids))
	for _, id := range ids {
		all = append(all, id)
	}
	if e.Kind == "" {
		return all
	}
	return map[string]any{e.Kind: all}
}

// principals returns the principals of one of the driver's statements. It returns an error if the element has an
// unknown form, which may give access to unknown principals.
func (e *Editor) principals(one statement) ([]string, error) {
	written, readable := one["Principal"], true
	if e.Kind != "" {
		object, _ := written.(map[string]any)
		written, readable = object[e.Kind], len(object) == 1
	}
	list, isList := written.([]any)
	if !isList {
		list = []any{written}
	}
	ids := make([]string, 0, len(list))
	for _, item := range list {
		id, ok := item.(string)
		ids, readable = append(ids, id), readable && ok
	}
	if !readable {
		return nil, driverkit.FailedPrecondition("statement %s of the bucket's policy was created by this driver, but its principals now have another format; "+
			"remove the statement; the next grant of each affected access restores it", sidOf(one))
	}
	return ids, nil
}

// edit changes the policy of a bucket, and writes it only if it differs.
func (e *Editor) edit(ctx context.Context, bucket string, change func([]statement) ([]statement, error)) error {
	unlock, err := e.locks.Lock(ctx, bucket)
	if err != nil {
		return err
	}
	defer unlock()
	document, before, err := e.read(ctx, bucket)
	if err != nil {
		return err
	}
	after, err := change(clone(before))
	if err != nil || same(before, after) {
		return err
	}
	if e.Present != nil {
		present, err := e.Present(ctx)
		if err != nil {
			return err
		}
		if after, err = e.without(after, func(id string) bool { return !slices.Contains(present, id) }); err != nil {
			return err
		}
	}
	if len(after) == 0 {
		_, err := e.S3.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: &bucket})
		return err
	}
	document["Statement"] = after
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write the policy of bucket %s: %w", bucket, err)
	}
	_, err = e.S3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: aws.String(string(text))})
	return err
}

// read returns the whole document and its statements. Without a policy the document is empty.
func (e *Editor) read(ctx context.Context, bucket string) (map[string]any, []statement, error) {
	out, err := e.S3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &bucket})
	if apierror.Is(err, "NoSuchBucketPolicy") {
		return map[string]any{"Version": "2012-10-17"}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	document := map[string]any{}
	if err := json.Unmarshal([]byte(aws.ToString(out.Policy)), &document); err != nil {
		return nil, nil, fmt.Errorf("read the policy of bucket %s: %w", bucket, err)
	}
	var found []statement
	switch value := document["Statement"].(type) {
	case map[string]any:
		found = []statement{value}
	case []any:
		for _, item := range value {
			if one, ok := item.(map[string]any); ok {
				found = append(found, one)
			}
		}
	}
	return document, found, nil
}

// clone copies the statements. Their values are replaced and never modified in place, so a shallow copy is
// sufficient.
func clone(found []statement) []statement {
	var copied []statement
	for _, one := range found {
		copied = append(copied, maps.Clone(one))
	}
	return copied
}

func same(a, b []statement) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }
