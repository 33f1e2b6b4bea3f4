// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func errorCases() []Case {
	return []Case{
		{
			ID: "RPC-009", Level: Should, Title: "rejects parameters with more than 512 entries or 64 KiB",
			Rule: spec("Size limits", "Unless otherwise specified, fields SHALL NOT exceed the limits documented here."),
			Why:  "the SHALL NOT is about the sender; we conclude that the receiver should check it", Fix: "check the number of entries and bytes of parameters first",
			Run: runOversizedParameters,
		},
		{
			ID: "RPC-010", Level: Should, Title: "rejects an unknown parameter",
			Rule: kep("DriverCreateBucket", "InvalidArgument (not retryable) if any parameters are invalid for the backend"),
			Why:  "the driver decides whether an unknown key is invalid; rejecting it reveals typing errors",
			Fix:  "check that each key of parameters is known, and name the unknown key in the message",
			Run:  runUnknownParameters,
		},
		{
			ID: "RPC-012", Level: Advice, Needs: []Need{NeedCreation}, Title: "respects a deadline that expires during the call, and converges afterwards",
			Rule: spec("Timeouts", "Any of the RPCs defined in this spec MAY timeout and MAY be retried."),
			Why:  "the quoted text allows timeouts, but not how quickly a driver must react to them",
			Fix:  "pass the call's context to every request to the backend",
			Run:  runShortDeadline,
		},
		{
			ID: "RPC-013", Level: Should, Phase: Alone, Needs: []Need{NeedCreation, NeedRefusedLogin},
			Title: "reports a rejected login as Unauthenticated or PermissionDenied",
			Rule: spec(errorScheme, "Not authenticated: 16 UNAUTHENTICATED. Permission denied: 7 PERMISSION_DENIED. System administrator "+
				"SHOULD ensure that requisite permissions are granted"),
			Why: "the table is about secrets in the request, which v1alpha2 does not have; the driver's own login is the closest equivalent",
			Fix: "map the backend's 401 and 403 to Unauthenticated and PermissionDenied",
			Run: func(c *C) {
				b := c.generated()
				mend := c.broken(LoginRefused)
				refused(c, c.provisioner.DriverCreateBucket, b.create(), codes.Unauthenticated, codes.PermissionDenied)
				mend()
			},
		},
		{
			ID: "RPC-014", Level: Should, Phase: Alone, Needs: []Need{NeedCreation, NeedBackendFaults},
			Title: "returns a retryable code while the backend is down, and recovers without a restart",
			Rule:  spec("Timeouts", "Idempotency requirements ensure that a retried call with the same fields continues where it left off when retried."),
			Why:   "a terminal code for a temporary problem would end the retries; the quoted text implies this without a keyword",
			Fix:   "map connection errors, throttling and 5xx to Unavailable or ResourceExhausted",
			Run:   runBackendDown,
		},
		{
			ID: "RPC-015", Level: Should, Phase: Last, Needs: []Need{NeedKey}, Title: "includes no secret in status messages",
			Rule: spec("Security", "Both the COSI system and Plugin SHOULD avoid accidental leakage of sensitive information (such as redacting such information from log files)."),
			Why:  "the quoted text uses SHOULD; end users see the messages", Fix: "keep credentials out of errors",
			Run: runSecretsInMessages,
		},
		{
			ID: "RPC-016", Level: Should, Needs: []Need{NeedCreation}, Title: "returns OK or Aborted to a second call for the same resource",
			Rule: spec(errorScheme, "Operation pending for bucket: the Plugin, SHOULD handle this as gracefully as possible, and MAY return this error code to reject secondary calls."),
			Why:  "the quoted text uses SHOULD", Fix: "lock by ID and return Aborted while the lock is held",
			Run: runSecondCall,
		},
	}
}

func runOversizedParameters(c *C) {
	many := map[string]string{}
	for i := range cosi.MaxParameters + 1 {
		many[fmt.Sprintf("cosi-sanity-%d", i)] = "x"
	}
	big := map[string]string{"cosi-sanity": strings.Repeat("x", cosi.MaxParametersSize+1)}
	for _, parameters := range []map[string]string{many, big} {
		request := c.bucketRequest(c.name())
		request.Parameters = parameters
		refused(c, c.provisioner.DriverGenerateBucketId, request, codes.InvalidArgument)
	}
}

// runUnknownParameters accepts a rejection in either phase, because phase 1 need not check parameters.
func runUnknownParameters(c *C) {
	const key = "cosi-sanity-no-such-parameter"
	request := c.bucketRequest(c.name())
	request.Parameters = map[string]string{key: "x"}
	named, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketId, request)
	if code == codes.OK {
		b := &bucket{id: named.GetBucketId(), request: request}
		refused(c, c.provisioner.DriverCreateBucket, b.create(), codes.InvalidArgument)
	} else if code != codes.InvalidArgument {
		c.Fail("DriverGenerateBucketId with an unknown parameter must return InvalidArgument, not %s", code)
	}
	b := c.created()
	phase1 := c.accessRequest(c.name(), c.protocol(), []*cosi.AccessedBucket{readWrite(b.id)})
	phase1.Parameters = map[string]string{key: "x"}
	account, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, phase1)
	if code == codes.OK {
		refused(c, c.provisioner.DriverGrantBucketAccess, grantOf(account.GetAccountId(), phase1), codes.InvalidArgument)
	} else if code != codes.InvalidArgument {
		c.Fail("DriverGenerateBucketAccessId with an unknown parameter must return InvalidArgument, not %s", code)
	}
}

func runShortDeadline(c *C) {
	c.createCancelled(func(code codes.Code) {
		if !slices.Contains([]codes.Code{codes.OK, codes.DeadlineExceeded, codes.Canceled}, code) {
			c.Fail("a call after its deadline must return DeadlineExceeded or Canceled, not %s", code)
		}
	})
}

// converges repeats a call while it returns Aborted, because an earlier call may still be running. It repeats for as
// long as a call may take, and requires OK in the end.
func (c *C) converges(call func() codes.Code, what string) {
	c.within(c.suite.limits.RPC, func() string {
		switch code := call(); code {
		case codes.OK:
			return ""
		case codes.Aborted:
			return what + " still returns Aborted"
		default:
			c.Fail("%s must return OK, not %s", what, code)
			return ""
		}
	})
}

func runBackendDown(c *C) {
	b := c.created()
	a := c.accessTo(b)
	terminal := []codes.Code{codes.InvalidArgument, codes.AlreadyExists, codes.Unimplemented, codes.OutOfRange}
	mend := c.broken(BackendDown)
	_, create := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
	_, grant := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
	_, remove := try(c.ctx, c, c.provisioner.DriverDeleteBucket, b.delete())
	mend()
	for rpc, code := range map[string]codes.Code{
		"DriverCreateBucket": create, "DriverGrantBucketAccess": grant, "DriverDeleteBucket": remove,
	} {
		if slices.Contains(terminal, code) {
			c.Fail("%s returns %s while the backend is down, which is a terminal code: COSI will not retry", rpc, code)
		}
	}
	c.eventually(func() string {
		if _, code := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create()); code != codes.OK {
			return fmt.Sprintf("DriverCreateBucket returns %s although the backend is up again", code)
		}
		return ""
	})
}

func runSecretsInMessages(c *C) {
	b := c.created()
	a := c.granted(b)
	other := grantOf(a.request.GetAccountId(), a.phase1)
	other.Buckets = []*cosi.AccessedBucket{{BucketId: b.id, ObjectDataAccessMode: mode(cosi.AccessMode_READ_ONLY)}}
	// Only the message matters, not the code.
	_, _ = try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, other)
	c.revoke(a)
	refusals, _, secrets := c.suite.traffic.copy()
	for _, x := range refusals {
		for value, field := range secrets {
			if len(value) >= 8 && strings.Contains(x.status.Message(), value) {
				c.Fail("the status message of %s contains the value of the field %s", x.method, field)
			}
		}
	}
}

func runSecondCall(c *C) {
	b := c.generated()
	c.onlyCodes(c.together(2, func(int) codes.Code {
		_, code := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
		return code
	}), codes.OK, codes.Aborted)
	ok(c, c.provisioner.DriverCreateBucket, b.create())
	a := c.accessTo(b)
	c.onlyCodes(c.together(2, func(int) codes.Code {
		_, code := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
		return code
	}), codes.OK, codes.Aborted)
}
