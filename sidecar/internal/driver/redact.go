// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const (
	// redacted stands for a credential that a driver put into a message.
	redacted = "[redacted]"
	// minSecret is the length below which a value is part of too many words.
	minSecret = 8
	// keptSecrets is how many secrets of an account are known: after a rotation
	// the former ones count as well.
	keptSecrets = 8
)

// secretValues are the secrets that the driver gave out. A driver must not put
// one into a message, and one that does must not bring it into conditions,
// Events, logs and traces.
type secretValues struct {
	mu    sync.Mutex
	known map[string][]string // by account ID, the newest last
}

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

func (v *secretValues) learn(account string, secrets []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, secret := range secrets {
		if account == "" || len(secret) < minSecret || slices.Contains(v.known[account], secret) {
			continue
		}
		if v.known == nil {
			v.known = map[string][]string{}
		}
		all := slices.Concat(v.known[account], []string{secret})
		v.known[account] = all[max(0, len(all)-keptSecrets):]
	}
}

func (v *secretValues) forget(account string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, account)
}

// redact returns the error of a call without the secrets of its account.
func (v *secretValues) redact(ctx context.Context, err error) error {
	v.mu.Lock()
	secrets := slices.Clone(v.known[accountIn(ctx)])
	v.mu.Unlock()
	said := status.Convert(err)
	text := said.Message()
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	if text == said.Message() {
		return err
	}
	return status.Error(said.Code(), text)
}

// forms returns the ways to write a secret in a message.
func forms(secret string) []string {
	quoted := strconv.Quote(secret)
	all := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), quoted[1 : len(quoted)-1],
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)),
	}
	if text, err := json.Marshal(secret); err == nil {
		all = append(all, string(text[1:len(text)-1]))
	}
	return all
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
		v.learn(accountIn(ctx), cosi.SecretsIn(response))
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
