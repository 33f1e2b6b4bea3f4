// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// ofAccount is the key of the account ID in the context of a call.
type ofAccount struct{}

// about returns the context for a call, which says what account it is about.
func about(ctx context.Context, request any) context.Context {
	if named, ok := request.(interface{ GetAccountId() string }); ok {
		return context.WithValue(ctx, ofAccount{}, named.GetAccountId())
	}
	return ctx
}

func accountIn(ctx context.Context) string {
	account, ok := ctx.Value(ofAccount{}).(string)
	if !ok {
		return ""
	}
	return account
}

// redact returns the error of a call without secrets.
func (v *secretValues) redact(ctx context.Context, err error) error {
	said := status.Convert(err)
	text := v.without(accountIn(ctx), said.Message())
	if text == said.Message() {
		return err
	}
	return status.Error(said.Code(), text)
}

// intercept learns the secrets in responses and takes them out of errors.
func (v *secretValues) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, conn, options...)
	if err != nil {
		return v.redact(ctx, err)
	}
	if response, ok := reply.(proto.Message); ok {
		v.give(accountIn(ctx), cosi.SecretsIn(response))
	}
	return nil
}

// redacting passes the outcome of calls on to a handler without secrets.
type redacting struct {
	stats.Handler

	secrets *secretValues
}

// HandleRPC implements stats.Handler.
func (r redacting) HandleRPC(ctx context.Context, what stats.RPCStats) {
	if end, ok := what.(*stats.End); ok && end.Error != nil {
		without := *end
		without.Error = r.secrets.redact(ctx, end.Error)
		what = &without
	}
	r.Handler.HandleRPC(ctx, what)
}
