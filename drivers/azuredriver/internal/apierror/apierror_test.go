// SPDX-License-Identifier: Apache-2.0

package apierror_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
)

func TestTranslate(t *testing.T) {
	t.Parallel()
	answer := func(code string, status int) error { return &azcore.ResponseError{ErrorCode: code, StatusCode: status} }
	tests := map[string]struct {
		err  error
		code codes.Code
		text string
	}{
		"Microsoft Entra refuses the login":          {&azidentity.AuthenticationFailedError{RawResponse: &http.Response{Body: http.NoBody}}, codes.Unauthenticated, "(Microsoft Entra)"},
		"the key of the account is refused":          {answer("AuthenticationFailed", 403), codes.Unauthenticated, "credentials"},
		"the driver has too few rights":              {answer("AuthorizationPermissionMismatch", 403), codes.PermissionDenied, "denies"},
		"the account takes no keys":                  {answer("KeyBasedAuthenticationNotPermitted", 403), codes.FailedPrecondition, "shared key access"},
		"the container of that name is being erased": {answer("ContainerBeingDeleted", 409), codes.Unavailable, "30 seconds"},
		"a new identity is not known everywhere":     {answer("PrincipalNotFound", 400), codes.Unavailable, "new identity has not propagated"},
		"the role assignments are used up":           {answer("RoleAssignmentLimitExceeded", 400), codes.ResourceExhausted, "maximum number of role assignments (4000"},
		"another client holds a lease":               {answer("LeaseIdMissing", 412), codes.FailedPrecondition, "lease"},
		"a legal hold protects the container":        {answer("ContainerUnderWriteOnceReadManyLegalHold", 409), codes.FailedPrecondition, "legal hold"},
		"a value is not accepted":                    {answer("InvalidEncryptionScope", 400), codes.InvalidArgument, "class parameters"},
		"a code that no table has, by its status":    {answer("Whatever", 429), codes.ResourceExhausted, "(Whatever)"},
		"a service that cannot be reached":           {&net.OpError{Op: "dial", Err: errors.New("refused")}, codes.Unavailable, "cannot be reached"},
		"an error of the driver itself":              {errors.New("defect"), codes.Internal, "the driver failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := apierror.Translate("bucket b", test.err)
			if status.Code(err) != test.code || !strings.Contains(status.Convert(err).Message(), test.text) {
				t.Errorf("got %v, want %v with %q", err, test.code, test.text)
			}
		})
	}
}
