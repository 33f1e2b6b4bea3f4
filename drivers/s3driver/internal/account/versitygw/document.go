// SPDX-License-Identifier: Apache-2.0

package versitygw

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// sidPrefix begins the IDs of our statements.
const sidPrefix = "cosi"

// statement is one statement of a policy as it is, whoever wrote it: foreign ones are kept with all
// their elements.
type statement = map[string]any

// sid is the ID of the statement for these actions; it has letters and digits only. Accounts with
// equal access share statements: a gateway may keep policies where there is little room.
func sid(ours statement) string {
	text := fmt.Sprint(ours["Action"])
	sum := sha256.Sum256([]byte(text))
	return sidPrefix + hex.EncodeToString(sum[:8])
}

// edit changes the statements of a policy.
type edit func([]statement) ([]statement, error)

// setAccess gives the users exactly this access on the bucket, and their account no other.
func setAccess(name string, bucket policy.Bucket, users []string) edit {
	return func(found []statement) ([]statement, error) {
		text, err := policy.Build(dialect, []policy.Bucket{bucket})
		if err != nil {
			return nil, err
		}
		var document struct {
			Statement []statement `json:"Statement"`
		}
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			return nil, fmt.Errorf("build the policy of bucket %s: %w", bucket.Name, err)
		}
		kept, err := dropAccount(name)(found)
		for _, ours := range document.Statement {
			ours["Sid"] = sid(ours)
			kept = addPrincipals(kept, ours, users)
		}
		return kept, err
	}
}

// addPrincipals adds users to the statement of that ID, or the whole statement if there is none.
func addPrincipals(found []statement, ours statement, users []string) []statement {
	i := slices.IndexFunc(found, func(s statement) bool { return s["Sid"] == ours["Sid"] })
	if i < 0 {
		ours["Principal"] = principal(users)
		return append(found, ours)
	}
	all := append(principals(found[i]), users...)
	slices.Sort(all)
	found[i]["Principal"] = principal(slices.Compact(all))
	return found
}

func principal(ids []string) map[string]any {
	all := make([]any, 0, len(ids))
	for _, id := range ids {
		all = append(all, id)
	}
	return map[string]any{"AWS": all}
}

// dropAccount removes all users of the account.
func dropAccount(name string) edit {
	return keepPrincipals(func(id string) bool { return !isUserOf(name, id) })
}

// dropPrincipal removes one user from our statements, and those that are left without any.
func dropPrincipal(id string) edit {
	return keepPrincipals(func(found string) bool { return found != id })
}

func keepPrincipals(keep func(id string) bool) edit {
	return func(found []statement) ([]statement, error) {
		var kept []statement
		for _, one := range found {
			text, _ := one["Sid"].(string)
			ids := principals(one)
			if !strings.HasPrefix(text, sidPrefix) || ids == nil {
				kept = append(kept, one)
				continue
			}
			if ids = slices.DeleteFunc(ids, func(id string) bool { return !keep(id) }); len(ids) > 0 {
				one["Principal"] = principal(ids)
				kept = append(kept, one)
			}
		}
		return kept, nil
	}
}

// principals returns the users of a statement, nil if it is not in the form in which we write it.
func principals(one statement) []string {
	object, _ := one["Principal"].(map[string]any)
	var list []any
	switch value := object["AWS"].(type) {
	case string:
		list = []any{value}
	case []any:
		list = value
	}
	var ids []string
	for _, item := range list {
		if id, ok := item.(string); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// editPolicy changes the policy of a bucket, and writes it only if that makes a difference. Users
// that are gone leave our statements at this opportunity, because the gateway refuses a document
// that names one.
func (u *Users) editPolicy(ctx context.Context, bucket string, change edit) error {
	unlock, err := u.locks.Lock(ctx, bucket)
	if err != nil {
		return err
	}
	defer unlock()
	document, before, err := u.readPolicy(ctx, bucket)
	if err != nil {
		return err
	}
	after, err := change(clone(before))
	if err != nil || sameStatements(before, after) {
		return err
	}
	users, err := u.list(ctx)
	if err != nil {
		return err
	}
	if after, err = keepPrincipals(func(id string) bool { return slices.Contains(users, id) })(after); err != nil {
		return err
	}
	if len(after) == 0 {
		_, err := u.S3.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: &bucket})
		return err
	}
	document["Statement"] = after
	text, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write the policy of bucket %s: %w", bucket, err)
	}
	_, err = u.S3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: aws.String(string(text))})
	return err
}

// readPolicy returns the whole document and its statements. Without a policy the document is an
// empty one.
func (u *Users) readPolicy(ctx context.Context, bucket string) (map[string]any, []statement, error) {
	out, err := u.S3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &bucket})
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

// clone copies the statements, whose values are replaced and never changed in place.
func clone(found []statement) []statement {
	var copied []statement
	for _, one := range found {
		another := statement{}
		maps.Copy(another, one)
		copied = append(copied, another)
	}
	return copied
}

func sameStatements(a, b []statement) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}
