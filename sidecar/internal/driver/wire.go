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
// answers itself, returned; the IDs come back in aside. What the generation cannot
// express is refused in phase 1, before anything is made.
type wire func(ctx context.Context, conn grpc.ClientConnInterface, request, reply any, beside *aside) error

// aside is what such a call carries that no message of our contract has room for.
type aside struct {
	grpc.EmptyCallOption

	// known is what the Bucket of a grant says, if there is one.
	known *cosi.ObjectProtocolAndBucketInfo
	// id is that of the request, until a driver with one phase has told another.
	id string
	// answered says that the driver returned OK, so that there is something of the ID.
	answered bool
}

// tell notes the ID of what a driver with one phase made.
func (a *aside) tell(id string) { a.id, a.answered = id, true }

// learned returns the ID that a call of phase 2 came to, and its error. After an error of
// the call itself there is none; a response that breaks the contract in another field
// still has one.
func (a *aside) learned(method string, validate func(string) error, err error) (string, error) {
	if err != nil && !a.answered {
		return "", err
	}
	if invalid := validate(a.id); invalid != nil {
		return "", Broken(method, invalid)
	}
	return a.id, err
}

// speech is the wire of one session; nil means that the driver speaks our contract. It is
// set before anybody but dial uses the session.
type speech struct{ wire wire }

// intercept is the innermost interceptor: whatever measures, logs, redacts and checks
// calls has to know our contract alone.
func (s *speech) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if s.wire == nil {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	beside := &aside{}
	for _, option := range options {
		if given, ok := option.(*aside); ok {
			beside = given
		}
	}
	return s.wire(ctx, around{conn, invoke}, request, reply, beside)
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
		return refuse("%s cannot say which ServiceAccount an access is for; use a BucketAccessClass with authenticationType: Key", generation)
	case asked.GetRotation() != "":
		return refuse("%s cannot ask for another credential; take the annotation cooper.dev/rotate off, and replace the BucketAccess by a new one", generation)
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
