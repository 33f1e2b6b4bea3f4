// SPDX-License-Identifier: Apache-2.0

package gcsfake

import (
	"net/http"
	"strings"
)

// isGRPC reports whether a request is a call of Cloud Storage's gRPC API, which clients with STORAGE_EMULATOR_HOST_GRPC send.
func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// refuseGRPC ends a call with the status UNIMPLEMENTED (12), which clients do not retry. The response consists of
// trailers only, which HTTP/2 sends as headers.
func refuseGRPC(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", "12")
	h.Set("Grpc-Message", "This fake does not serve the gRPC API of Cloud Storage. Use storage.NewClient with STORAGE_EMULATOR_HOST.")
	w.WriteHeader(http.StatusOK)
}
