// SPDX-License-Identifier: Apache-2.0

package apierror_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// answer returns an error as the SDK would create it from a store's response.
func answer(operation, code string, httpStatus int) error {
	return &smithy.OperationError{ServiceID: "S3", OperationName: operation, Err: &awshttp.ResponseError{
		RequestID: "request-1",
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: httpStatus, Header: http.Header{}}},
			Err:      &smithy.GenericAPIError{Code: code, Message: "secret text of the store"},
		},
	}}
}

// rows lists the expected meaning of every code, by gRPC code.
var rows = map[codes.Code]string{
	codes.Unauthenticated: "InvalidAccessKeyId SignatureDoesNotMatch InvalidClientTokenId UnrecognizedClientException ExpiredToken ExpiredTokenException " +
		"InvalidToken TokenRefreshRequired IncompleteSignature MissingAuthenticationToken AuthorizationHeaderMalformed InvalidSecurity XAdminInvalidAccessKey UserSuspended",
	codes.PermissionDenied: "AccessDenied AccessDeniedException Forbidden AllAccessDisabled AccountProblem NotSignedUp OptInRequired UnauthorizedAccess " +
		"XAdminAccessDenied FeatureDisabledException KMS.DisabledException KMS.AccessDeniedException",
	codes.ResourceExhausted: "SlowDown SlowDownRead SlowDownWrite Throttling ThrottlingException ThrottledException Throttled RequestLimitExceeded RequestThrottled " +
		"RequestThrottledException TooManyRequests TooManyRequestsException BandwidthLimitExceeded ProvisionedThroughputExceededException " +
		"LimitExceeded LimitExceededException ServiceQuotaExceededException ResourceLimitExceededException TooManyBuckets QuotaExceeded StorageFull " +
		"XMinioStorageFull XMinioAdminBucketQuotaExceeded",
	codes.Unavailable: "InternalError InternalFailure ServiceFailure ServiceFailureException ServiceUnavailable ServiceUnavailableException Unavailable Busy " +
		"RequestTimeout XMinioServerNotInitialized ServerException RequestTimeTooSkewed RequestExpired NoSuchEntity NoSuchEntityException NoSuchUpload XMinioAdminNoSuchUser XAdminUserNotFound XMinioAdminNoSuchPolicy NoSuchUser",
	codes.Aborted: "OperationAborted ConcurrentModification ConcurrentModificationException ConditionalRequestConflict DeleteConflict DeleteConflictException " +
		"EntityTemporarilyUnmodifiable ResourceInUseException RestoreAlreadyInProgress XMinioAdminPolicyChangeAlreadyApplied UserAlreadyExists",
	codes.InvalidArgument: "InvalidBucketName InvalidLocationConstraint IllegalLocationConstraintException MalformedPolicyDocument MalformedPolicy XMinioMalformedIAMPolicy " +
		"PolicyNotAttachable InvalidTag KMS.NotFoundException KMS.InvalidKeyUsageException",
	codes.AlreadyExists:      "BucketAlreadyExists BucketAlreadyOwnedByYou EntityAlreadyExists EntityAlreadyExistsException",
	codes.FailedPrecondition: "BucketNotEmpty ObjectLocked UnmodifiableEntity InvalidBucketState KMS.InvalidStateException ObjectLockConfigurationNotFound",
	codes.NotFound:           "NoSuchBucket NotFound",
}

func TestEveryRow(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for want, list := range rows {
		for code := range strings.FieldsSeq(list) {
			tested[strings.TrimSuffix(code, "Exception")] = true
			err := apierror.Translate("bucket b", answer("GetBucketLocation", code, http.StatusBadRequest))
			if got := status.Code(err); got != want {
				t.Errorf("%s is %v, want %v", code, got, want)
			}
			sentence := status.Convert(err).Message()
			if !strings.HasPrefix(sentence, "bucket b: ") || strings.Contains(sentence, "secret text") || !strings.Contains(sentence, strings.TrimSuffix(code, "Exception")) {
				t.Errorf("%s: sentence %q", code, sentence)
			}
		}
	}
	for _, code := range apierror.Codes() {
		if !tested[code] {
			t.Errorf("the row of %s has no test", code)
		}
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err  error
		want codes.Code
	}{
		"a value that the store refuses at creation": {answer("CreateBucket", "InvalidArgument", 400), codes.InvalidArgument},
		"the same code where no parameter is sent":   {answer("GetBucketTagging", "InvalidArgument", 400), codes.Internal},
		"a feature that the store does not have":     {answer("PutBucketEncryption", "NotImplemented", 501), codes.InvalidArgument},
		"a queue that the store refuses":             {answer("PutBucketNotificationConfiguration", "InvalidArgument", 400), codes.InvalidArgument},
		"protected objects":                          {answer("DeleteObjects", "AccessDenied", 403), codes.FailedPrecondition},
		"something that is missing, whatever it is":  {answer("GetUser", "Whatever", 404), codes.Internal},
		"an unknown code, by the status":             {answer("GetUser", "Whatever", 502), codes.Unavailable},
		"a store that cannot be reached":             {&smithy.OperationError{OperationName: "GetUser", Err: errors.New("connection refused")}, codes.Unavailable},
		"an error of the driver itself":              {errors.New("bug"), codes.Internal},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := apierror.Translate("bucket b", test.err)
			if got := status.Code(err); got != test.want {
				t.Errorf("code is %v, want %v (%v)", got, test.want, err)
			}
		})
	}
}

func TestDetailIsForTheLog(t *testing.T) {
	t.Parallel()
	err := apierror.Translate("bucket b", answer("GetBucketTagging", "AccessDenied", 403))
	for _, want := range []string{`operation "GetBucketTagging"`, `codes ["AccessDenied"]`, `request ID "request-1"`, "status 403"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("detail %q does not say %s", err, want)
		}
	}
}

// TestQuotas checks that the error for every AWS quota that applies to accesses or buckets names the quota and states
// what to do.
func TestQuotas(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"CreateUser/LimitExceeded": "IAM users", "CreateAccessKey/LimitExceeded": "access keys", "CreatePolicy/LimitExceeded": "managed policies",
		"AttachUserPolicy/LimitExceeded": "managed policies", "CreateRole/LimitExceeded": "IAM roles", "CreateBucket/TooManyBuckets": "buckets",
		"CreatePodIdentityAssociation/ResourceLimitExceededException": "Pod Identity associations",
	} {
		operation, code, _ := strings.Cut(call, "/")
		err := apierror.Translate("account a", answer(operation, code, http.StatusConflict))
		if text := status.Convert(err).Message(); status.Code(err) != codes.ResourceExhausted || !strings.Contains(text, want) || !strings.Contains(text, "administrator has to") {
			t.Errorf("%s is %v: %s", call, status.Code(err), text)
		}
	}
}
