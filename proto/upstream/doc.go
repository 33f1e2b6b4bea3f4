// SPDX-License-Identifier: Apache-2.0

// Package upstream is the dialect of the upstream project's v1alpha2 as of its commit ee00c26: the
// messages that mean something else there than in package cosi, and the path that both share. Whoever
// speaks it has been told to by configuration; no call tells it from package cosi.
//
// It must not know Kubernetes, a storage backend, or how either party is built.
package upstream

import (
	"context"
	"strings"

	"google.golang.org/grpc"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Register serves the dialect on the path of the public contract. The registrar must not serve
// cosi.Provisioner too. Interceptors see the names of this package, such as
// Provisioner_DriverCreateBucket_FullMethodName.
func Register(registrar grpc.ServiceRegistrar, server ProvisionerServer) {
	described := Provisioner_ServiceDesc
	described.ServiceName = cosi.Provisioner_ServiceDesc.ServiceName
	registrar.RegisterService(&described, server)
}

// NewClient returns a client that calls the dialect on the path of the public contract. The
// interceptors of conn see that path.
func NewClient(conn grpc.ClientConnInterface) ProvisionerClient {
	return NewProvisionerClient(publicPath{conn})
}

// publicPath puts the calls of this package's client onto the path of the public contract.
type publicPath struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (p publicPath) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	name := strings.TrimPrefix(method, "/"+Provisioner_ServiceDesc.ServiceName+"/")
	return p.ClientConnInterface.Invoke(ctx, "/"+cosi.Provisioner_ServiceDesc.ServiceName+"/"+name, request, reply, options...) //nolint:wrapcheck // it stands in for the connection
}
