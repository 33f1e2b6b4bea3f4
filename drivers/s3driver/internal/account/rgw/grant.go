// SPDX-License-Identifier: Apache-2.0

package rgw

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Grant ensures that the account's user exists, and returns its key. It writes the policy last, because Ceph discards
// the policy when any other property of the user changes. If Grant is interrupted before that, the user has no policy
// until the next grant. Without a policy, the user can access only the objects that it wrote itself: it can read
// them, even if the requested access excludes reading, and can read and write their ACLs and tags.
func (u *Users) Grant(ctx context.Context, request account.Request) (credentials.Credential, error) {
	document, err := policy.Build(dialect, request.Buckets)
	if err != nil {
		return credentials.Credential{}, err
	}
	own, err := u.self(ctx)
	switch {
	case err != nil:
		return credentials.Credential{}, err
	case own.Account != "":
		return credentials.Credential{}, driverkit.FailedPrecondition("the driver's own user belongs to account %s of the store, but the driver has not been tested with accounts; "+
			"an administrator has to configure a user without an account", own.Account)
	}
	id := own.inTenant(request.Name)
	found, err := u.ensureUser(ctx, id, request)
	if err != nil {
		return credentials.Credential{}, err
	}
	keys := &keysOf{Users: u, user: id, found: found.Keys}
	granted, err := credentials.GrantReadable(ctx, u.marked(request), keys)
	if err != nil {
		return credentials.Credential{}, err
	}
	if !keys.changed {
		if same, err := u.hasPolicy(ctx, id, document); err != nil || same {
			return granted, err
		}
	}
	_, err = u.IAM.PutUserPolicy(ctx, &iam.PutUserPolicyInput{UserName: &id, PolicyName: aws.String(policyName), PolicyDocument: &document})
	return granted, err
}

// ensureUser returns the user of the account and creates it if necessary. The new user has no key and may not create
// buckets, which Ceph allows by default.
func (u *Users) ensureUser(ctx context.Context, id string, request account.Request) (user, error) {
	found, exists, err := u.readUser(ctx, "uid", id)
	if err != nil {
		return user{}, err
	}
	mark := u.mark(request.Hash)
	if !exists {
		_, err := u.call(ctx, http.MethodPut, "CreateUser", url.Values{
			"uid": {id}, "display-name": {mark}, "max-buckets": {"-1"}, "generate-key": {"false"},
		})
		return user{}, err
	}
	switch err := u.checkOwner(id, found, driverkit.AlreadyExists); {
	case err != nil:
		return user{}, err
	case found.DisplayName != mark:
		return user{}, driverkit.AlreadyExists("account %s exists with other buckets, access modes or parameters than requested", request.ID)
	case found.suspended():
		return user{}, driverkit.FailedPrecondition("user %s was suspended in the store; enable it, or delete it to let the driver create it again", id)
	}
	return found, nil
}

// hasPolicy reports whether the user has this policy.
func (u *Users) hasPolicy(ctx context.Context, id, document string) (bool, error) {
	out, err := u.IAM.GetUserPolicy(ctx, &iam.GetUserPolicyInput{UserName: &id, PolicyName: aws.String(policyName)})
	if apierror.NotFound(err) { // the body is the beginning of a success response with the error in it, which no parser reads
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// AWS returns the document URL-encoded, Ceph does not. The driver's documents contain nothing that decoding would
	// change.
	text, err := url.QueryUnescape(aws.ToString(out.PolicyDocument))
	if err != nil {
		return false, fmt.Errorf("read the policy of user %s: %w", id, err)
	}
	return text == document, nil
}
