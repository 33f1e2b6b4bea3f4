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

// A wire makes, of a call of our contract, the call that says the same to a driver of
// another generation. All such drivers have one phase: bucket_id of DriverCreateBucket and
// account_id of DriverGrantBucketAccess are the names that phase 1, which the wire
// answers itself, returned; the IDs are returned in extra. What the generation cannot
// express is refused in phase 1, before anything is created.
type wire func(ctx context.Context, conn grpc.ClientConnInterface, request, reply any, extra *extras) error

// extras are the values of such a call that no message of our contract has a field for.
type extras struct {
	grpc.EmptyCallOption

	// known is what the Bucket of a grant says, if there is one.
	known *cosi.ObjectProtocolAndBucketInfo
	// id is the ID of the request, until a one-phase driver returns another.
	id string
	// answered says that the driver returned OK, so something has the ID.
	answered bool
}

// setID stores the ID of what a one-phase driver created.
func (e *extras) setID(id string) { e.id, e.answered = id, true }

// result returns the ID and the error of a call of phase 2. After an error of the call
// itself the ID is empty; a response that breaks the contract in another field has one.
func (e *extras) result(method string, validate func(string) error, err error) (string, error) {
	if err != nil && !e.answered {
		return "", err
	}
	if invalid := validate(e.id); invalid != nil {
		return "", Broken(method, invalid)
	}
	return e.id, err
}

// A translator is the interceptor with the wire of one session; nil means that the driver
// implements our contract. The wire is set before anything but dial uses the session.
type translator struct{ wire wire }

// intercept is the innermost interceptor: those that measure, log, redact and check calls
// see only our contract.
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

// around is a connection whose calls go on behind the interceptors.
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

// refuse refuses what a generation of the contract cannot express. It names, as every
// refusal, what to do.
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

// checkPlain refuses what no generation with one phase can express about an access.
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

// isAsked reports whether the user did not leave the category open.
func (c category) isAsked() bool {
	return c.asked != cosi.AccessMode_UNKNOWN && c.asked != cosi.AccessMode_ANY
}

// categories are those of one bucket of a grant, by the names of the fields of an access.
func categories(bucket *cosi.AccessedBucket, not *cosi.DisallowedAccessModes) []category {
	return []category{
		{"objectData", bucket.GetObjectDataAccessMode().GetMode(), not.GetObjectData()},
		{"objectMetadata", bucket.GetObjectMetadataAccessMode().GetMode(), not.GetObjectMetadata()},
		{"bucketMetadata", bucket.GetBucketMetadataAccessMode().GetMode(), not.GetBucketMetadata()},
	}
}

// modeNames are the modes as users write them.
var modeNames = map[cosi.AccessMode_Mode]string{
	cosi.AccessMode_READ_WRITE: "ReadWrite", cosi.AccessMode_READ_ONLY: "ReadOnly", cosi.AccessMode_WRITE_ONLY: "WriteOnly",
}

// modeNamed returns the mode of a name; UNKNOWN if there is none.
func modeNamed(name string) cosi.AccessMode_Mode {
	for _, mode := range slices.Sorted(maps.Keys(modeNames)) {
		if modeNames[mode] == name {
			return mode
		}
	}
	return cosi.AccessMode_UNKNOWN
}
