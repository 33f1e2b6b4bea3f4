// SPDX-License-Identifier: Apache-2.0

package strict_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sanity/strict"
)

// system is a minimal COSI system: one connection to a driver behind the checker.
type system struct {
	cosi.IdentityClient
	cosi.ProvisionerClient

	t       *testing.T
	checker *strict.Checker
	now     *clock
}

// clock is a clock that the test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

func start(t *testing.T) *system {
	t.Helper()
	now := &clock{now: time.Unix(1_800_000_000, 0)}
	checker := strict.New(strict.Options{Now: now.Now})
	server := memdriver.New(memdriver.Options{ServerOptions: checker.ServerOptions(), StaticPrefix: "static-"}).NewServer()
	path := filepath.Join(t.TempDir(), "d.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &system{IdentityClient: cosi.NewIdentityClient(conn), ProvisionerClient: cosi.NewProvisionerClient(conn), t: t, checker: checker, now: now}
}

func (s *system) hello() {
	s.t.Helper()
	if _, err := s.DriverGetInfo(s.t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
		s.t.Fatal(err)
	}
}

// bucket creates a bucket as the contract requires.
func (s *system) bucket(name string) {
	s.t.Helper()
	if _, err := s.DriverGenerateBucketId(s.t.Context(), &cosi.DriverGenerateBucketIdRequest{Name: name}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.DriverCreateBucket(s.t.Context(), &cosi.DriverCreateBucketRequest{BucketId: name}); err != nil {
		s.t.Fatal(err)
	}
}

func access(name, bucket string) *cosi.DriverGenerateBucketAccessIdRequest {
	return &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: name, Protocol: &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Buckets: []*cosi.AccessedBucket{{
			BucketId: bucket, ObjectDataAccessMode: &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE},
		}},
	}
}

func grant(from *cosi.DriverGenerateBucketAccessIdRequest) *cosi.DriverGrantBucketAccessRequest {
	return &cosi.DriverGrantBucketAccessRequest{
		AccountId: from.GetAccountName(), Protocol: from.GetProtocol(), AuthenticationType: from.GetAuthenticationType(),
		ServiceAccountName: from.GetServiceAccountName(), Buckets: from.GetBuckets(), Parameters: from.GetParameters(),
	}
}

// TestEveryRuleIsEnforced lets a system violate each rule once. The driver's responses do not matter, so errors of
// calls are ignored.
func TestEveryRuleIsEnforced(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(ctx context.Context, s *system)
		want []strict.Rule
	}{
		"a complete valid lifecycle": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				s.bucket("bc-1")
				phase1 := access("ba-1", "bc-1")
				_, _ = s.DriverGenerateBucketAccessId(ctx, phase1)
				_, _ = s.DriverGrantBucketAccess(ctx, grant(phase1))
				_, _ = s.DriverGrantBucketAccess(ctx, grant(phase1))
				_, _ = s.DriverDeleteBucket(ctx, &cosi.DriverDeleteBucketRequest{BucketId: "bc-1"})
			},
		},
		"a static bucket is valid after it was found": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				_, _ = s.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: "static-1"})
				_, _ = s.DriverGenerateBucketAccessId(ctx, access("ba-1", "static-1"))
			},
		},
		"a request without its required field": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				_, _ = s.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{})
			},
			want: []strict.Rule{strict.ValidFields},
		},
		"a first call other than DriverGetInfo": {
			do: func(_ context.Context, s *system) {
				s.bucket("bc-1")
			},
			want: []strict.Rule{strict.InfoFirst},
		},
		"the same request right after a terminal response": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				azure := &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}}}
				_, _ = s.DriverGenerateBucketId(ctx, azure)
				_, _ = s.DriverGenerateBucketId(ctx, azure)
			},
			want: []strict.Rule{strict.NoTerminalRepeat},
		},
		"the same request long after a terminal response": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				azure := &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}}}
				_, _ = s.DriverGenerateBucketId(ctx, azure)
				s.now.advance(5 * time.Minute)
				_, _ = s.DriverGenerateBucketId(ctx, azure)
			},
		},
		"the same request after a change that the driver cannot observe": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				azure := &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}}}
				_, _ = s.DriverGenerateBucketId(ctx, azure)
				s.checker.ObjectChanged()
				_, _ = s.DriverGenerateBucketId(ctx, azure)
			},
		},
		"the same request twice after a change": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				azure := &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Protocols: []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}}}
				s.checker.ObjectChanged()
				_, _ = s.DriverGenerateBucketId(ctx, azure)
				_, _ = s.DriverGenerateBucketId(ctx, azure)
			},
			want: []strict.Rule{strict.NoTerminalRepeat},
		},
		"the same request right after a retryable response": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				_, _ = s.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: "later"})
				_, _ = s.DriverGetBucket(ctx, &cosi.DriverGetBucketRequest{BucketId: "later"})
			},
		},
		"a bucket ID that was never generated": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				_, _ = s.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "bc-1"})
			},
			want: []strict.Rule{strict.GeneratedFirst},
		},
		"an account ID that was never generated": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				s.bucket("bc-1")
				_, _ = s.DriverGrantBucketAccess(ctx, grant(access("ba-1", "bc-1")))
			},
			want: []strict.Rule{strict.GeneratedFirst},
		},
		"other parameters in phase 2": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				_, _ = s.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{Name: "bc-1", Parameters: map[string]string{"tier": "hot"}})
				_, _ = s.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: "bc-1"})
			},
			want: []strict.Rule{strict.SameParameters},
		},
		"access to a bucket that was not created": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				_, _ = s.DriverGenerateBucketAccessId(ctx, access("ba-1", "bc-1"))
			},
			want: []strict.Rule{strict.KnownBuckets},
		},
		"an unexpected service account": {
			do: func(ctx context.Context, s *system) {
				s.hello()
				s.bucket("bc-1")
				phase1 := access("ba-1", "bc-1")
				phase1.ServiceAccountName = "default"
				_, _ = s.DriverGenerateBucketAccessId(ctx, phase1)
			},
			want: []strict.Rule{strict.NoUnaskedServiceAccount},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			tc.do(t.Context(), s)
			broken := s.checker.Violations()
			if len(broken) != len(tc.want) {
				t.Fatalf("want the violations %q, got %q", tc.want, broken)
			}
			for i, violation := range broken {
				if violation.Rule != tc.want[i] {
					t.Errorf("want %q, got %q", tc.want[i], violation)
				}
			}
		})
	}
}

// TestTwoCallsForOneBucket holds a first call inside the driver while a second one arrives.
func TestTwoCallsForOneBucket(t *testing.T) {
	t.Parallel()
	checker := strict.New(strict.Options{})
	info := &grpc.UnaryServerInfo{FullMethod: cosi.Provisioner_DriverDeleteBucket_FullMethodName}
	request := &cosi.DriverDeleteBucketRequest{BucketId: "bc-1"}
	identity := &grpc.UnaryServerInfo{FullMethod: cosi.Identity_DriverGetInfo_FullMethodName}
	response := func(context.Context, any) (any, error) { return &cosi.DriverDeleteBucketResponse{}, nil }
	if _, err := checker.Intercept(t.Context(), &cosi.DriverGetInfoRequest{}, identity, response); err != nil {
		t.Fatal(err)
	}
	_, err := checker.Intercept(t.Context(), request, info, func(ctx context.Context, _ any) (any, error) {
		return checker.Intercept(ctx, request, info, response)
	})
	if err != nil {
		t.Fatal(err)
	}
	if broken := checker.Violations(); len(broken) != 1 || broken[0].Rule != strict.OneInFlight {
		t.Errorf("want one violation of %q, got %q", strict.OneInFlight, broken)
	}
}

// TestAChangeWhileACallIsUnderWay makes a change that the driver cannot observe, or changes the driver, before a call
// returns: the caller may then repeat the request.
func TestAChangeWhileACallIsUnderWay(t *testing.T) {
	t.Parallel()
	ask := func(c *strict.Checker, method string, request any, meanwhile func() (any, error)) {
		_, _ = c.Intercept(t.Context(), request, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return meanwhile() })
	}
	introduce := func(c *strict.Checker, revision string) {
		ask(c, cosi.Identity_DriverGetInfo_FullMethodName, &cosi.DriverGetInfoRequest{}, func() (any, error) {
			return &cosi.DriverGetInfoResponse{Name: "driver.example.com", Revision: revision}, nil
		})
	}
	for name, tc := range map[string]struct {
		meanwhile func(*strict.Checker)
		want      int
	}{
		"an object":  {meanwhile: (*strict.Checker).ObjectChanged},
		"the driver": {meanwhile: func(c *strict.Checker) { introduce(c, "2") }},
		"nothing":    {meanwhile: func(c *strict.Checker) { introduce(c, "1") }, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checker := strict.New(strict.Options{})
			introduce(checker, "1")
			refused := func() (any, error) { return nil, status.Error(codes.InvalidArgument, "no") }
			request := &cosi.DriverGetBucketRequest{BucketId: "b-1"}
			ask(checker, cosi.Provisioner_DriverGetBucket_FullMethodName, request, func() (any, error) {
				tc.meanwhile(checker)
				return refused()
			})
			ask(checker, cosi.Provisioner_DriverGetBucket_FullMethodName, request, refused)
			if got := checker.Violations(); len(got) != tc.want {
				t.Errorf("want %d violations, got %v", tc.want, got)
			}
		})
	}
}
