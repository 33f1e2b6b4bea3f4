// SPDX-License-Identifier: Apache-2.0

// Package strict checks the other side of the contract: while package sanity tests drivers, strict checks the COSI
// system (the sidecar) that calls a driver. A Checker observes the calls on the driver's side of the socket and records
// every violation of the rules for callers. Checker.ServerOptions returns the options that add the Checker to a gRPC
// server. Checker.Violations returns the violations, each with its rule, the call, and the request without secrets.
//
// A Checker must not change a response, because that would affect the observed behavior of the sidecar.
package strict

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Rule is a rule for the COSI system.
type Rule string

// The rules, each with its source.
const (
	// ValidFields: required fields, sizes, known enum values (specification v1alpha1, sections Required vs. Optional and
	// Size limits, as overridden by cosi.proto).
	ValidFields Rule = "each field of a request is valid"
	// InfoFirst: DriverGetInfo is the first call on every connection (specification v1alpha1, section COSI_ENDPOINT: the
	// system observes the socket, connects, and identifies the driver).
	InfoFirst Rule = "DriverGetInfo is the first call on every connection"
	// NoTerminalRepeat: a request is not repeated after a terminal response (KEP-1979: "not retryable"; specification
	// v1alpha1: the caller MUST fix the request before retrying), unless the response of DriverGetInfo changes.
	NoTerminalRepeat Rule = "no identical request on the same connection soon after a terminal response"
	// GeneratedFirst: phase 2 uses an ID from phase 1 (KEP-1979, sections DriverCreateBucket and
	// DriverGrantBucketAccess).
	GeneratedFirst Rule = "phase 2 uses an ID that phase 1 returned"
	// SameParameters: phase 2 carries the parameters of phase 1 (KEP-1979, section
	// DriverGenerateBucketId: "the same parameters later used for phase-2 provisioning").
	SameParameters Rule = "phase 2 has the same fields as phase 1"
	// KnownBuckets: access is granted on buckets that exist (KEP-1979, section DriverGenerateBucketAccessId, bucket_id).
	KnownBuckets Rule = "access is granted only to buckets that were created or found"
	// OneInFlight: one call at a time for a bucket or an account (specification v1alpha1, section
	// Error Scheme, operation pending).
	OneInFlight Rule = "at most one call at a time for each bucket ID and account ID"
	// NoUnaskedServiceAccount: service_account_name is empty unless it is required (KEP-1979, section
	// DriverGrantBucketAccess).
	NoUnaskedServiceAccount Rule = "service_account_name is empty unless authentication_type is SERVICE_ACCOUNT"
)

// Violation is one violation of a rule.
type Violation struct {
	Time   time.Time `json:"time"`
	Rule   Rule      `json:"rule"`
	Method string    `json:"method"`
	// Request is the request without secrets.
	Request string `json:"request"`
	Message string `json:"message"`
}

// String returns the violation on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s: %s (%s %s)", v.Rule, v.Message, v.Method, v.Request)
}

// Options configures a Checker. Zero fields have the given defaults.
type Options struct {
	// Window is how long after a terminal response the identical request is forbidden: 5 minutes.
	Window time.Duration
	// Now returns the current time: time.Now.
	Now func() time.Time
	// OnViolation is called immediately for every violation. It may be called concurrently.
	OnViolation func(Violation)
}

// Checker records violations by a COSI system. Its interceptor and its stats handler belong to one gRPC server;
// ServerOptions returns both.
type Checker struct {
	options     Options
	connections atomic.Uint64

	mu         sync.Mutex
	violations []Violation
	calls      int
	inFlight   map[string]string
	terminal   map[string]ended
	introduced map[uint64]bool
	buckets    map[string]*cosi.DriverGenerateBucketIdRequest
	accounts   map[string]*cosi.DriverGenerateBucketAccessIdRequest
	found      map[string]bool
	info       *cosi.DriverGetInfoResponse
	// changes counts the events that allow the caller to repeat rejected requests.
	changes int
}

// ended is a terminal response.
type ended struct {
	at   time.Time
	code codes.Code
}

// New returns a Checker.
func New(options Options) *Checker {
	if options.Window == 0 {
		options.Window = 5 * time.Minute
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Checker{
		options: options, inFlight: map[string]string{}, terminal: map[string]ended{}, introduced: map[uint64]bool{},
		buckets: map[string]*cosi.DriverGenerateBucketIdRequest{}, accounts: map[string]*cosi.DriverGenerateBucketAccessIdRequest{},
		found: map[string]bool{},
	}
}

// ServerOptions returns the options that place the checker in front of a server's services.
func (c *Checker) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(c.Intercept), grpc.StatsHandler(connectionTagger{next: &c.connections})}
}

// Violations returns the violations recorded so far, oldest first.
func (c *Checker) Violations() []Violation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Violation(nil), c.violations...)
}

// ObjectChanged tells the checker that a user or an administrator has changed an object, since the checker cannot
// observe such changes. After a change, the sidecar may repeat rejected requests, including requests that were running
// at the time of the change.
func (c *Checker) ObjectChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed()
}

// changed discards all previous rejections. The caller holds c.mu.
func (c *Checker) changed() {
	c.changes++
	clear(c.terminal)
}

// Calls returns the number of observed calls.
func (c *Checker) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// Intercept implements grpc.UnaryServerInterceptor.
func (c *Checker) Intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	asked, isMessage := request.(proto.Message)
	if !isMessage {
		return handle(ctx, request)
	}
	connection, _ := ctx.Value(connectionKey{}).(uint64)
	call := watched{connection: connection, method: info.FullMethod, request: asked, subject: subjectOf(asked)}
	call.identity = identityOf(call)
	call.changes = c.before(call)
	response, err := handle(ctx, request)
	answered, _ := response.(proto.Message)
	c.after(call, answered, status.Code(err))
	return response, err
}

// watched is one call.
type watched struct {
	connection uint64
	method     string
	request    proto.Message
	// subject is the bucket or account of the call, and identity the whole request on its connection.
	subject, identity string
	// changes is the checker's count when the call began.
	changes int
}

func identityOf(call watched) string {
	// The deterministic encoding is the same for equal requests, and cannot fail for a message that was just decoded.
	encoded, _ := proto.MarshalOptions{Deterministic: true}.Marshal(call.request)
	return fmt.Sprintf("%d %s %x", call.connection, call.method, encoded)
}

// before checks a call when it begins, and returns the count of changes.
func (c *Checker) before(call watched) int {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if err := cosi.ValidateRequest(call.request); err != nil {
		c.report(call, ValidFields, err.Error())
	}
	if call.method == cosi.Identity_DriverGetInfo_FullMethodName {
		c.introduced[call.connection] = true
	} else if !c.introduced[call.connection] {
		c.report(call, InfoFirst, "the first call on the connection was not DriverGetInfo")
		c.introduced[call.connection] = true
	}
	if last, found := c.terminal[call.identity]; found {
		forever := last.code == codes.Unimplemented
		if forever || now.Sub(last.at) < c.options.Window {
			c.report(call, NoTerminalRepeat, fmt.Sprintf("the same request returned %s %s ago", last.code, now.Sub(last.at).Round(time.Millisecond)))
		}
		delete(c.terminal, call.identity)
	}
	c.checkOrder(call)
	if call.subject == "" {
		return c.changes
	}
	if other, busy := c.inFlight[call.subject]; busy {
		c.report(call, OneInFlight, fmt.Sprintf("%s for %s is still running", other, call.subject))
		return c.changes
	}
	c.inFlight[call.subject] = call.method
	return c.changes
}

func (c *Checker) after(call watched, response proto.Message, code codes.Code) {
	now := c.options.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.subject != "" && c.inFlight[call.subject] == call.method {
		delete(c.inFlight, call.subject)
	}
	if cosi.DispositionOf(call.method, code) == cosi.Terminal && c.changes == call.changes {
		c.terminal[call.identity] = ended{at: now, code: code}
	}
	if code == codes.OK {
		c.learn(call.request, response)
	}
}

// report records a violation. The caller holds c.mu.
func (c *Checker) report(call watched, rule Rule, message string) {
	violation := Violation{
		Time: c.options.Now(), Rule: rule, Method: call.method, Request: cosi.RedactedString(call.request), Message: message,
	}
	c.violations = append(c.violations, violation)
	if c.options.OnViolation != nil {
		c.options.OnViolation(violation)
	}
}

type connectionKey struct{}

// connectionTagger numbers connections and adds the number to the context of each call.
type connectionTagger struct{ next *atomic.Uint64 }

// TagConn implements stats.Handler.
func (t connectionTagger) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, t.next.Add(1))
}

// TagRPC implements stats.Handler.
func (connectionTagger) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (connectionTagger) HandleRPC(context.Context, stats.RPCStats) {}

// HandleConn implements stats.Handler.
func (connectionTagger) HandleConn(context.Context, stats.ConnStats) {}
