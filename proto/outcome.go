// SPDX-License-Identifier: Apache-2.0

package cosi

import (
	"fmt"

	"google.golang.org/grpc/codes"
)

// Disposition is what the caller of an RPC does after its outcome.
type Disposition int

const (
	// OK means that the call succeeded.
	OK Disposition = iota
	// Terminal means that repeating the same call to the same driver cannot succeed. The caller stops until the object,
	// the driver or the connection changes, apart from a slow resync.
	Terminal
	// Retryable means that the caller retries with backoff.
	Retryable
)

// String returns "OK", "Terminal" or "Retryable".
func (v Disposition) String() string {
	switch v {
	case OK:
		return "OK"
	case Terminal:
		return "Terminal"
	case Retryable:
		return "Retryable"
	default:
		return fmt.Sprintf("Disposition(%d)", int(v))
	}
}

// Outcome is one row of the table (RPC, gRPC code) -> disposition.
type Outcome struct {
	// Method is the full method name, such as Provisioner_DriverCreateBucket_FullMethodName.
	Method string
	// Code is one of the 17 canonical gRPC codes.
	Code codes.Code
	// Disposition is what the caller does.
	Disposition Disposition
	// UntilReconnect means that a terminal outcome is final until the connection to the driver is reestablished: not
	// even a resync repeats the call.
	UntilReconnect bool
	// Reason explains to end users what the code means as an outcome of this RPC.
	Reason string
}

// rule is the part of an outcome that depends only on the code.
type rule struct {
	disposition Disposition
	reason      string
}

// OutcomeOf returns the row for a full method name and a code. It is defined for all inputs. A code that gRPC does not
// define counts as codes.Unknown, as in gRPC libraries. For a method that is not part of the contract, the result
// depends only on the code.
func OutcomeOf(method string, code codes.Code) Outcome {
	general, known := generalRules()[code]
	if !known {
		code = codes.Unknown
		general = generalRules()[code]
	}
	outcome := Outcome{Method: method, Code: code, Disposition: general.disposition, Reason: general.reason}
	if reason, found := particularReasons()[method][code]; found {
		outcome.Reason = reason
	}
	outcome.UntilReconnect = code == codes.Unimplemented
	return outcome
}

// DispositionOf returns only the disposition of OutcomeOf.
func DispositionOf(method string, code codes.Code) Disposition {
	return OutcomeOf(method, code).Disposition
}

// Outcomes returns the whole table: every RPC of the contract with every code.
func Outcomes() []Outcome {
	var table []Outcome
	for _, method := range Methods() {
		for code := codes.OK; code <= codes.Unauthenticated; code++ {
			table = append(table, OutcomeOf(method, code))
		}
	}
	return table
}

// Methods returns the full method names of the contract, in the order of cosi.proto.
func Methods() []string {
	return []string{
		Identity_DriverGetInfo_FullMethodName,
		Provisioner_DriverGenerateBucketId_FullMethodName,
		Provisioner_DriverCreateBucket_FullMethodName,
		Provisioner_DriverGetBucket_FullMethodName,
		Provisioner_DriverDeleteBucket_FullMethodName,
		Provisioner_DriverGenerateBucketAccessId_FullMethodName,
		Provisioner_DriverGrantBucketAccess_FullMethodName,
		Provisioner_DriverRevokeBucketAccess_FullMethodName,
	}
}

// generalRules contains every gRPC code once. The four terminal codes are those for which KEP-1979, section "COSI
// Driver gRPC API", and the error scheme of the v1alpha1 specification forbid retries. All other failures may be
// transient.
func generalRules() map[codes.Code]rule {
	return map[codes.Code]rule{
		codes.OK:                 {OK, ""},
		codes.InvalidArgument:    {Terminal, "the driver rejects a value of the request"},
		codes.AlreadyExists:      {Terminal, "a resource with this identity exists but does not match the request"},
		codes.OutOfRange:         {Terminal, "the driver cannot serve a value of the request"},
		codes.Unimplemented:      {Terminal, "the driver does not implement this call; check that it is a two-phase driver of COSI v1alpha2"},
		codes.Canceled:           {Retryable, "the call was cancelled"},
		codes.Unknown:            {Retryable, "the driver failed with an unspecified error"},
		codes.DeadlineExceeded:   {Retryable, "the call exceeded its deadline; the next call continues the work"},
		codes.NotFound:           {Retryable, "the backend lacks a resource that the call needs"},
		codes.PermissionDenied:   {Retryable, "the backend denies this action to the driver's own account"},
		codes.ResourceExhausted:  {Retryable, "the backend throttles the driver, or a quota is used up"},
		codes.FailedPrecondition: {Retryable, "the backend is not in a state that allows the call"},
		codes.Aborted:            {Retryable, "another call for the same bucket or account is running"},
		codes.Internal:           {Retryable, "the driver failed; see its log for details"},
		codes.Unavailable:        {Retryable, "the driver or its backend is unreachable"},
		codes.DataLoss:           {Retryable, "the backend reports lost or damaged data"},
		codes.Unauthenticated:    {Retryable, "the backend rejects the driver's own credentials"},
	}
}

// particularReasons contains the meanings that KEP-1979 gives to a code for a particular RPC, by RPC section. A
// reason never changes the disposition.
func particularReasons() map[string]map[codes.Code]string {
	const (
		bucketConflict  = "a bucket with this identity exists but does not match the request"
		accountConflict = "an account with this identity exists but does not match the request"
		bucketArgument  = "the driver or its backend does not support a parameter or protocol of the bucket"
		accessArgument  = "the driver or its backend does not support a parameter, protocol, access mode or authentication type"
		multiBucket     = "the driver cannot create one credential for several buckets; use one access for each bucket"
		notRange        = "the driver cannot serve a value of the request (this code is intended for access to several buckets)"
		goneIsFine      = "the driver reports a missing resource, although deleting a missing resource should succeed"
	)
	create := map[codes.Code]string{
		codes.AlreadyExists:   bucketConflict,
		codes.InvalidArgument: bucketArgument,
		codes.OutOfRange:      notRange,
	}
	grant := map[codes.Code]string{
		codes.AlreadyExists:   accountConflict,
		codes.InvalidArgument: accessArgument,
		codes.OutOfRange:      multiBucket,
	}
	return map[string]map[codes.Code]string{
		Identity_DriverGetInfo_FullMethodName: {
			codes.Unimplemented: "the server on the socket is not a driver of COSI v1alpha2",
		},
		Provisioner_DriverGenerateBucketId_FullMethodName: create,
		Provisioner_DriverCreateBucket_FullMethodName:     create,
		Provisioner_DriverGetBucket_FullMethodName: {
			codes.NotFound:        "the backend has no bucket with this ID yet",
			codes.AlreadyExists:   "the existing bucket does not match the parameters",
			codes.InvalidArgument: "the existing bucket does not match the parameters, or the driver does not support the parameters",
			codes.OutOfRange:      notRange,
		},
		Provisioner_DriverDeleteBucket_FullMethodName: {
			codes.FailedPrecondition: "the bucket is not empty or is protected, so the backend keeps it",
			codes.NotFound:           goneIsFine,
			codes.OutOfRange:         notRange,
		},
		Provisioner_DriverGenerateBucketAccessId_FullMethodName: grant,
		Provisioner_DriverGrantBucketAccess_FullMethodName:      grant,
		Provisioner_DriverRevokeBucketAccess_FullMethodName: {
			codes.NotFound: goneIsFine,
		},
	}
}
