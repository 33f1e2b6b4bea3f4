// SPDX-License-Identifier: Apache-2.0

// Package upstream contains the upstream project's dialect of v1alpha2, as of its commit ee00c26: the messages that
// differ from those of package cosi. Both dialects use the same service path, so no call can distinguish them. The
// dialect must therefore be selected by configuration.
//
// The package is independent of Kubernetes, of any storage backend, and of the implementations of both parties.
package upstream

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Register serves the dialect on the service path of the public contract, so the registrar must not also serve
// cosi.Provisioner. Interceptors see the method names of this package, such as
// Provisioner_DriverCreateBucket_FullMethodName.
func Register(registrar grpc.ServiceRegistrar, server ProvisionerServer) {
	described := Provisioner_ServiceDesc
	described.ServiceName = cosi.Provisioner_ServiceDesc.ServiceName
	registrar.RegisterService(&described, server)
}

// NewClient returns a client that calls the dialect on the service path of the public contract. The interceptors of
// conn see that path.
func NewClient(conn grpc.ClientConnInterface) ProvisionerClient {
	return NewProvisionerClient(publicPath{conn})
}

// publicPath rewrites the calls of this package's client to the service path of the public contract.
type publicPath struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (p publicPath) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	name := strings.TrimPrefix(method, "/"+Provisioner_ServiceDesc.ServiceName+"/")
	return p.ClientConnInterface.Invoke(ctx, "/"+cosi.Provisioner_ServiceDesc.ServiceName+"/"+name, request, reply, options...) //nolint:wrapcheck // it stands in for the connection
}
