// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"net/http"

	"github.com/aws/smithy-go/middleware"
)

// callName returns the names for metrics and spans that the SDK stored in the context.
func callName(request *http.Request) (api, operation string) {
	return middleware.GetServiceID(request.Context()), middleware.GetOperationName(request.Context())
}
