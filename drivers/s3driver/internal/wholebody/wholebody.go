// SPDX-License-Identifier: Apache-2.0

// Package wholebody keeps the connections of the SDK. It must not hold requests that are too large for memory.
package wholebody

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport sends each request with a body of its own. The SDK closes its body as soon as the header of the response is
// there, when net/http may be about to look for the body's end; told EOF by a WriteTo, which is no end but an error, net/http
// ends the connection, and with it the response. A store that responds within a millisecond loses its responses so.
type Transport struct {
	// Next sends the request. Required.
	Next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return t.Next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if closeErr := request.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read the body of the request: %w", err)
	}
	own := request.WithContext(request.Context())
	own.Body = io.NopCloser(bytes.NewReader(body))
	return t.Next.RoundTrip(own)
}
