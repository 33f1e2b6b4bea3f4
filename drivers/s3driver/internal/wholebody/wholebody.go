// SPDX-License-Identifier: Apache-2.0

// Package wholebody buffers request bodies. Without it, a fast response can make net/http close the connection and
// lose the response (see Transport). Do not use it for bodies that do not fit into memory.
package wholebody

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Transport sends each request with a separate, buffered body. Without it, the SDK closes the request body as soon as
// it receives the response header. net/http may then still be about to read the end of the body. The closed body
// returns EOF from WriteTo, which net/http treats as an error: it closes the connection and loses the response. This
// affects stores that respond within a millisecond.
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
