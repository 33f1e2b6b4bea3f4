// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// A wire translates a call of our contract to the equivalent call for a driver of another generation. All such drivers
// have one phase. The wire answers phase 1 itself, with a name. bucket_id of DriverCreateBucket and account_id of
// DriverGrantBucketAccess are those names, and the IDs are returned in extra. Requests that the generation cannot
// express are refused in phase 1, before anything is created.
type wire func(ctx context.Context, conn grpc.ClientConnInterface, request, reply any, extra *extras) error

// extras are the values of such a call that have no field in the messages of our contract.
type extras struct {
	grpc.EmptyCallOption

	// known is the connection data in the Bucket's status, for a grant.
	known *cosi.ObjectProtocolAndBucketInfo
	// id is the ID of the request, until a one-phase driver returns another.
	id string
	// answered reports that the driver returned OK, so the ID is in use.
	answered bool
}

// setID stores the ID of a bucket or account that a one-phase driver created.
func (e *extras) setID(id string) { e.id, e.answered = id, true }

// result returns the ID and the error of a phase 2 call. If the call itself failed, the ID is empty. If the response
// breaks the contract in another field, the ID is set.
func (e *extras) result(method string, validate func(string) error, err error) (string, error) {
	if err != nil && !e.answered {
		return "", err
	}
	if invalid := validate(e.id); invalid != nil {
		return "", Broken(method, invalid)
	}
	return e.id, err
}

// A translator is an interceptor with the wire of one session. A nil wire means that the driver implements our
// contract. The wire is set before any code except dial uses the session.
type translator struct{ wire wire }

// intercept is the innermost interceptor. The interceptors for metrics, logs, redaction and checks therefore only see
// our contract.
func (t *translator) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if t.wire == nil {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	extra := &extras{}
	for _, option := range options {
		if given, ok := option.(*extras); ok {
			extra = given
		}
	}
	return t.wire(ctx, around{conn, invoke}, request, reply, extra)
}

// around is a connection that bypasses the interceptors.
type around struct {
	*grpc.ClientConn

	invoke grpc.UnaryInvoker
}

// Invoke implements grpc.ClientConnInterface.
func (a around) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	return a.invoke(ctx, method, request, reply, a.ClientConn, options...)
}

// fill sets the response of a call.
func fill[A proto.Message](reply any, response A) error {
	into, ok := reply.(A)
	if !ok {
		return status.Errorf(codes.Internal, "%T is not a %T", reply, response)
	}
	proto.Merge(into, response)
	return nil
}

// refuse returns the error for a request that a generation of the contract cannot express. The message says what to
// do.
func refuse(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, "not sent to the driver: "+format, args...)
}

// decodeID returns the driver's own ID.
func decodeID(text string) (string, error) {
	id, err := cosi.UnescapeID(text)
	if err != nil {
		return "", refuse("%v", err)
	}
	return id, nil
}

// checkPlain refuses access requests that no one-phase generation can express.
func checkPlain(asked *cosi.DriverGrantBucketAccessRequest, generation string) error {
	switch {
	case asked.GetAuthenticationType().GetType() != cosi.AuthenticationType_KEY:
		return refuse("%s does not support ServiceAccounts; use a BucketAccessClass with authenticationType: Key", generation)
	case asked.GetRotation() != "":
		return refuse("%s cannot rotate a credential; remove the annotation cooper.dev/rotate, and replace the BucketAccess to get a new credential", generation)
	default:
		return nil
	}
}

// A category is one of the three kinds of access to a bucket.
type category struct {
	name       string
	asked      cosi.AccessMode_Mode
	disallowed []cosi.AccessMode_Mode
}

// isAsked reports whether the user requests access in this category.
func (c category) isAsked() bool {
	return c.asked != cosi.AccessMode_UNKNOWN && c.asked != cosi.AccessMode_ANY
}

// categories returns the categories of one bucket of a grant, with the field names of a BucketAccess.
func categories(bucket *cosi.AccessedBucket, not *cosi.DisallowedAccessModes) []category {
	return []category{
		{"objectData", bucket.GetObjectDataAccessMode().GetMode(), not.GetObjectData()},
		{"objectMetadata", bucket.GetObjectMetadataAccessMode().GetMode(), not.GetObjectMetadata()},
		{"bucketMetadata", bucket.GetBucketMetadataAccessMode().GetMode(), not.GetBucketMetadata()},
	}
}

// modeNames are the names of the modes in the Kubernetes API.
var modeNames = map[cosi.AccessMode_Mode]string{
	cosi.AccessMode_READ_WRITE: "ReadWrite", cosi.AccessMode_READ_ONLY: "ReadOnly", cosi.AccessMode_WRITE_ONLY: "WriteOnly",
}

// modeNamed returns the mode with a name, or UNKNOWN.
func modeNamed(name string) cosi.AccessMode_Mode {
	for _, mode := range slices.Sorted(maps.Keys(modeNames)) {
		if modeNames[mode] == name {
			return mode
		}
	}
	return cosi.AccessMode_UNKNOWN
}
