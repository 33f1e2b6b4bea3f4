// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
)

// A proxy forwards calls from one sidecar to the driver. Its socket is closed with the sidecar.
type proxy struct {
	process *process
	server  *grpc.Server
	onward  *grpc.ClientConn
	served  chan struct{}
}

// newProxy serves at the path of a socket and forwards calls to the driver.
func newProxy(p *process, path, driver string) (*proxy, error) {
	onward, err := grpc.NewClient(driver, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	made := &proxy{process: p, onward: onward, served: make(chan struct{})}
	made.server = grpc.NewServer(grpc.UnaryInterceptor(made.intercept))
	cosi.RegisterIdentityServer(made.server, cosi.UnimplementedIdentityServer{})
	cosi.RegisterProvisionerServer(made.server, cosi.UnimplementedProvisionerServer{})
	go func() {
		defer close(made.served)
		_ = made.server.Serve(listener) // returns after stop
	}()
	return made, nil
}

func (x *proxy) stop() {
	x.server.Stop()
	<-x.served
	_ = x.onward.Close()
}

func (x *proxy) intercept(ctx context.Context, message any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	p := x.process
	if p.killed() {
		return nil, status.Error(codes.Unavailable, errDead.Error())
	}
	response, err := responseOf(info.FullMethod)
	if err != nil {
		return nil, err
	}
	rpc := info.FullMethod[strings.LastIndex(info.FullMethod, "/")+1:]
	ctx = traced(ctx)
	if rpc == string(memdriver.GetInfo) || ofFence(idOf(message)) {
		return response, x.leave(ctx, info.FullMethod, message, response)
	}
	e, f := p.tape.begin(request{Who: p.who, What: rpc, Name: idOf(message)})
	if f != nil && !f.After {
		p.tape.end(e, false)
		f.hit()
		return nil, status.Error(codes.Unavailable, errLost.Error())
	}
	err = x.leave(ctx, info.FullMethod, message, response)
	p.tape.end(e, err == nil)
	if f != nil {
		f.hit()
		return nil, status.Error(codes.Unavailable, errLost.Error())
	}
	return response, err
}

// leave forwards a call unless the process is dead.
func (x *proxy) leave(ctx context.Context, method string, message any, response proto.Message) error {
	if err := x.process.call(); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return x.onward.Invoke(ctx, method, message, response)
}

// traced propagates the trace context of a call.
func traced(ctx context.Context) context.Context {
	came := metadata.MD{"traceparent": metadata.ValueFromIncomingContext(ctx, "traceparent")}
	return metadata.NewOutgoingContext(ctx, came)
}

// responseOf returns an empty response of a method.
func responseOf(method string) (proto.Message, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, status.Error(codes.Unimplemented, err.Error())
	}
	called, ok := descriptor.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, status.Errorf(codes.Unimplemented, "%s is no method", name)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(called.Output().FullName())
	if err != nil {
		return nil, status.Error(codes.Unimplemented, err.Error())
	}
	return kind.New().Interface(), nil
}

// idOf returns the bucket or account ID in a request.
func idOf(message any) string {
	switch m := message.(type) {
	case interface{ GetBucketId() string }:
		return m.GetBucketId()
	case interface{ GetAccountId() string }:
		return m.GetAccountId()
	case interface{ GetAccountName() string }:
		return m.GetAccountName()
	case interface{ GetName() string }:
		return m.GetName()
	default:
		return ""
	}
}
