// SPDX-License-Identifier: Apache-2.0

// Package storagepb has the messages of Cloud Storage's gRPC API that the fake serves. Google's own package of them is
// internal to its client, and cannot be linked twice. Therefore, this package has its own proto package, which does
// not appear on the wire, and declares only the fields that the fake supports. hack/generate-proto.sh generates it.
package storagepb
