// SPDX-License-Identifier: Apache-2.0

package apierror_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"google.golang.org/api/googleapi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// storageError is a response of the storage API, with a reason for each error.
func storageError(operation string, code int, reason string) error {
	return &call.Error{API: call.Storage, Operation: operation, Err: &googleapi.Error{
		Code: code, Message: "text of the store", Errors: []googleapi.ErrorItem{{Reason: reason}},
	}}
}

// iamError is a response of the IAM API, with a status in its body.
func iamError(operation string, code int, name string) error {
	body := fmt.Sprintf(`{"error": {"code": %d, "message": "text of the store", "status": %q}}`, code, name)
	return &call.Error{API: call.IAM, Operation: operation, Err: &googleapi.Error{Code: code, Message: "text of the store", Body: body}}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		code codes.Code
		text string
	}{
		"a token is refused":                             {storageError("buckets.get", 401, "authError"), codes.Unauthenticated, "credentials"},
		"no token is given out":                          {&call.Error{Err: &oauth2.RetrieveError{Response: &http.Response{StatusCode: http.StatusBadRequest}}}, codes.Unauthenticated, "credentials"},
		"an untrusted certificate":                       {&call.Error{Err: errors.New("get a token: tls: failed to verify certificate: x509: certificate signed by unknown authority")}, codes.Unavailable, "caFile"},
		"no token can be given out":                      {&call.Error{Err: &oauth2.RetrieveError{Response: &http.Response{StatusCode: http.StatusServiceUnavailable}}}, codes.Unavailable, "internal problem"},
		"the file with the credentials is missing":       {&call.Error{Err: fmt.Errorf("%w: open", call.ErrCredentials)}, codes.Unauthenticated, "credentials"},
		"the driver may not":                             {storageError("buckets.get", 403, "forbidden"), codes.PermissionDenied, "denies"},
		"the driver may not, by IAM":                     {iamError("projects.serviceAccounts.create", 403, "PERMISSION_DENIED"), codes.PermissionDenied, "denies"},
		"too fast":                                       {storageError("buckets.insert", 429, "rateLimitExceeded"), codes.ResourceExhausted, "limits the rate of requests"},
		"a quota":                                        {storageError("buckets.insert", 403, "quotaExceeded"), codes.ResourceExhausted, "quota"},
		"a backend error":                                {storageError("buckets.get", 503, "backendError"), codes.Unavailable, "internal problem"},
		"an error without a code":                        {storageError("buckets.get", 502, ""), codes.Unavailable, "HTTP status 502"},
		"an etag that is old":                            {storageError("buckets.setIamPolicy", 412, "conditionNotMet"), codes.Aborted, "another change"},
		"a concurrent change":                            {storageError("buckets.setIamPolicy", 409, "conflict"), codes.Aborted, "another change"},
		"a value is not accepted":                        {storageError("buckets.insert", 400, "invalid"), codes.InvalidArgument, "class parameters"},
		"the name is taken":                              {storageError("buckets.insert", 409, "conflict"), codes.AlreadyExists, "has another owner"},
		"a bucket with objects":                          {storageError("buckets.delete", 409, "conflict"), codes.FailedPrecondition, "not empty"},
		"an object under retention":                      {storageError("objects.delete", 403, "retentionPolicyNotMet"), codes.FailedPrecondition, "prevents this change"},
		"an object on hold":                              {storageError("objects.delete", 403, "objectUnderActiveHold"), codes.FailedPrecondition, "prevents this change"},
		"an organization policy":                         {storageError("buckets.insert", 412, "orgPolicyConstraintFailed"), codes.FailedPrecondition, "organization"},
		"the same as buckets word it":                    {storageError("buckets.insert", 412, "conditionNotMet"), codes.FailedPrecondition, "organization"},
		"a deleted bucket":                               {storageError("buckets.getIamPolicy", 404, "notFound"), codes.NotFound, "does not exist"},
		"an account that has not spread yet":             {storageError("projects.hmacKeys.create", 404, "notFound"), codes.Unavailable, "tries again"},
		"the same for its JSON key":                      {iamError("projects.serviceAccounts.keys.create", 404, "NOT_FOUND"), codes.Unavailable, "tries again"},
		"a key with a state that has not propagated yet": {storageError("projects.hmacKeys.delete", 400, "invalid"), codes.Unavailable, "tries again"},
		"ten HMAC keys":                                  {storageError("projects.hmacKeys.create", 403, "quotaExceeded"), codes.ResourceExhausted, "ten"},
		"ten JSON keys":                                  {iamError("projects.serviceAccounts.keys.create", 429, "RESOURCE_EXHAUSTED"), codes.ResourceExhausted, "ten"},
		"a hundred accounts":                             {iamError("projects.serviceAccounts.create", 429, "RESOURCE_EXHAUSTED"), codes.ResourceExhausted, "100"},
		"JSON keys are forbidden":                        {iamError("projects.serviceAccounts.keys.create", 400, "FAILED_PRECONDITION"), codes.FailedPrecondition, "disableServiceAccountKeyCreation"},
		"HMAC keys are forbidden":                        {storageError("projects.hmacKeys.create", 412, "orgPolicyConstraintFailed"), codes.FailedPrecondition, "restrictAuthTypes"},
		"a bucket without uniform access":                {storageError("buckets.setIamPolicy", 400, "invalid"), codes.FailedPrecondition, "uniform"},
		"a role that the table does not know":            {storageError("buckets.get", 418, "teapot"), codes.Internal, "teapot"},
		"a connection that failed":                       {&call.Error{API: "storage", Operation: "buckets.get", Err: errors.New("dial tcp")}, codes.Unavailable, "cannot be reached"},
		"an error that is not of a call":                 {errors.New("bug"), codes.Internal, "the driver failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := apierror.Translate("bucket b", test.err)
			if status.Code(err) != test.code {
				t.Errorf("code %v, want %v: %v", status.Code(err), test.code, err)
			}
			shown := status.Convert(err).Message()
			if !strings.Contains(shown, test.text) {
				t.Errorf("the user reads %q, without %q", shown, test.text)
			}
			if strings.Contains(shown, "text of the store") {
				t.Errorf("the user reads the text of the store: %q", shown)
			}
		})
	}
}
