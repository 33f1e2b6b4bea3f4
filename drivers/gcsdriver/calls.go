// SPDX-License-Identifier: Apache-2.0

package gcsdriver

import (
	"net/http"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/call"
)

// callName returns the names of a call for metrics and spans. Requests for tokens have no operation in the context.
func callName(request *http.Request) (api, operation string) {
	api, operation = call.Name(request.Context())
	if operation == "" {
		return "oauth2", "token"
	}
	return api, operation
}
