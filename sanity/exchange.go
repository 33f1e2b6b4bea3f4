// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"maps"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// exchange is one call and its response, as the suite observed it.
type exchange struct {
	method   string
	request  proto.Message
	response proto.Message
	status   *status.Status
}

// wire is a simulated network fault.
type wire int

const (
	// wireDropResponse means that the driver completes the call and its response is lost. Zero means no fault.
	wireDropResponse wire = iota + 1
	// wireTwice means that the request is delivered twice; the caller gets the second response.
	wireTwice
)

type (
	caseKey struct{}
	wireKey struct{}
)

func withWire(ctx context.Context, fault wire) context.Context {
	return context.WithValue(ctx, wireKey{}, fault)
}

// traffic collects everything that a driver returned in a run.
type traffic struct {
	mu        sync.Mutex
	refusals  []exchange
	responses []exchange
	secrets   map[string]string
}

func newTraffic() *traffic { return &traffic{secrets: map[string]string{}} }

func (t *traffic) add(x exchange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if x.status.Code() != codes.OK {
		t.refusals = append(t.refusals, x)
		return
	}
	t.responses = append(t.responses, x)
	eachSecret(x.response.ProtoReflect(), func(field, value string) { t.secrets[value] = field })
}

func (t *traffic) copy() (refusals, responses []exchange, secrets map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	secrets = map[string]string{}
	maps.Copy(secrets, t.secrets)
	return append(refusals, t.refusals...), append(responses, t.responses...), secrets
}

// intercept intercepts all calls to the driver. It writes the journal before a call, injects a fault if the case asks
// for one, and records the response.
func (s *suite) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	asked, isMessage := request.(proto.Message)
	answered, isResponse := reply.(proto.Message)
	if !isMessage || !isResponse {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	c, _ := ctx.Value(caseKey{}).(*C)
	fault, _ := ctx.Value(wireKey{}).(wire)
	if c != nil {
		if err := c.journal(asked, fault == wireTwice); err != nil {
			return err
		}
	}
	s.recordObject(asked, nil)
	if fault == wireTwice {
		// The first of the two responses is discarded.
		_ = invoke(ctx, method, request, reply, conn, options...)
	}
	err := invoke(ctx, method, request, reply, conn, options...)
	x := exchange{method: method, request: proto.Clone(asked), response: proto.Clone(answered), status: status.Convert(err)}
	if err == nil {
		s.recordObject(asked, answered)
	}
	if ctx.Err() == nil || err == nil {
		s.traffic.add(x)
	}
	if c != nil {
		c.record(x)
	}
	if fault == wireDropResponse && err == nil {
		proto.Reset(answered)
		return status.Error(codes.Unavailable, "the suite dropped the response")
	}
	return err
}

// eachSecret calls found for the value of every secret field.
func eachSecret(message protoreflect.Message, found func(field, value string)) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case isSecret(field) && field.Kind() == protoreflect.StringKind && !field.IsMap() && value.String() != "":
			found(string(field.FullName()), value.String())
		case field.IsMap():
			eachSecretOfMap(field, value.Map(), found)
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				eachSecret(value.List().Get(i).Message(), found)
			}
		default:
			eachSecret(value.Message(), found)
		}
		return true
	})
}

// eachSecretOfMap is eachSecret for a map that contains both secret and other values.
func eachSecretOfMap(field protoreflect.FieldDescriptor, values protoreflect.Map, found func(field, value string)) {
	values.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
		switch {
		case field.MapValue().Message() != nil:
			eachSecret(value.Message(), found)
		case isSecret(field) && field.MapValue().Kind() == protoreflect.StringKind && value.String() != "" && !oldPlain(key.String()):
			found(string(field.FullName())+"["+key.String()+"]", value.String())
		}
		return true
	})
}

func isSecret(field protoreflect.FieldDescriptor) bool {
	options, ok := field.Options().(*descriptorpb.FieldOptions)
	if !ok || options == nil {
		return false
	}
	secret, ok := proto.GetExtension(options, cosi.E_CosiSecret).(bool)
	return ok && secret
}
