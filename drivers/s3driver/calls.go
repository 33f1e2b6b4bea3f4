// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"net/http"

	"github.com/aws/smithy-go/middleware"
)

// callName names a call for metrics and spans as the SDK left it in the context.
func callName(request *http.Request) (api, operation string) {
	return middleware.GetServiceID(request.Context()), middleware.GetOperationName(request.Context())
}
