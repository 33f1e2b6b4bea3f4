// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
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
	// redacted replaces a credential in a driver's message.
	redacted = "[redacted]"
	// minSecret is the minimum length of a value that is redacted. Shorter ones are part of too many words.
	minSecret = 8
	// keptSecrets is how many secrets of an account are kept. After a rotation the former ones are still redacted.
	keptSecrets = 8
	// keptFound is how many credentials from the access Secrets of an account are kept, and how many values of other keys.
	keptFound = 40
	// maxReturned limits the memory for the secrets that the driver returned, in bytes: enough for tens of thousands of
	// accounts.
	maxReturned = 32 << 20
	// maxText is the length at which a text is truncated, in bytes, because it is searched for every secret.
	maxText = 64 << 10
)

// secretValues are the secrets that the driver returned. A driver must not put a secret into a message. If it does,
// the secret must not appear in conditions, Events, logs and traces, whatever the message is about. Secrets are kept
// in plain text, because a text cannot be searched for a digest, until their account is revoked or too many others
// were returned since.
type secretValues struct {
	mu       sync.Mutex
	accounts map[string]*accountSecrets
	grants   uint64
	// size is the memory for returned secrets, in bytes.
	size int
}

// accountSecrets are the secrets of one account, the newest last. returned are from the driver's responses. credentials
// and others, which are the values of keys that a user added, are from access Secrets. Users can write those, so they
// must not cause redactions in messages that other users read. An access can have 2,048 added keys, so others has a
// limit of its own, and never replaces credentials.
type accountSecrets struct {
	returned            []secret
	credentials, others []string
	// grant is the number of the last grant.
	grant uint64
}

// A secret is the list of all forms in which a message may contain it, the plain one first.
type secret []string

func (s secret) size() (bytes int) {
	for _, form := range s {
		bytes += len(form)
	}
	return bytes
}

// addReturned stores the secrets of an account in a response.
func (v *secretValues) addReturned(account string, values []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.grants++
	v.each(account, values, func(a *accountSecrets, value string) {
		a.grant = v.grants
		if has(a.returned, value) {
			return
		}
		a.returned = append(a.returned, forms(value))
		v.size += a.returned[len(a.returned)-1].size()
		v.drop(a, len(a.returned)-keptSecrets)
	})
	for v.size > maxReturned {
		var oldest *accountSecrets
		for _, a := range v.accounts {
			if len(a.returned) > 0 && (oldest == nil || a.grant < oldest.grant) {
				oldest = a
			}
		}
		v.drop(oldest, len(oldest.returned))
	}
}

// addFound stores the secrets of an account in its access Secret.
func (v *secretValues) addFound(account string, credentials, others []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.each(account, credentials, func(a *accountSecrets, value string) { a.credentials = a.keep(a.credentials, value) })
	v.each(account, others, func(a *accountSecrets, value string) { a.others = a.keep(a.others, value) })
}

// keep returns found with the value as the last one, and at most keptFound values.
func (a *accountSecrets) keep(found []string, value string) []string {
	if has(a.returned, value) || slices.Contains(found, value) {
		return found
	}
	return append(slices.Clone(found[max(0, len(found)+1-keptFound):]), value)
}

// each calls do for each value that can be redacted.
func (v *secretValues) each(account string, values []string, do func(a *accountSecrets, value string)) {
	if v.accounts == nil {
		v.accounts = map[string]*accountSecrets{}
	}
	for _, value := range values {
		if account == "" || len(value) < minSecret || len(value) > cosi.MaxCredentialLength {
			continue
		}
		if v.accounts[account] == nil {
			v.accounts[account] = &accountSecrets{}
		}
		do(v.accounts[account], value)
	}
}

func has(secrets []secret, value string) bool {
	return slices.ContainsFunc(secrets, func(s secret) bool { return s[0] == value })
}

// drop drops the n oldest returned secrets of an account.
func (v *secretValues) drop(a *accountSecrets, n int) {
	for ; n > 0; n-- {
		v.size -= a.returned[0].size()
		a.returned = slices.Clone(a.returned[1:])
	}
}

// forget drops an account.
func (v *secretValues) forget(account string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := v.accounts[account]; a != nil {
		v.drop(a, len(a.returned))
		delete(v.accounts, account)
	}
}

// redactText returns a text about an account without the secrets that the driver returned for any account, those in the
// account's own access Secrets, and passwords in URLs.
func (v *secretValues) redactText(account, text string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(text) > maxText {
		text = text[:maxText] + "..."
	}
	var contained []string
	search := func(s secret) {
		for _, form := range s {
			if strings.Contains(text, form) {
				contained = append(contained, form)
			}
		}
	}
	for _, a := range v.accounts {
		for _, s := range a.returned {
			search(s)
		}
	}
	if a := v.accounts[account]; a != nil {
		for _, value := range slices.Concat(a.credentials, a.others) {
			search(forms(value))
		}
	}
	slices.SortFunc(contained, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) // one may be part of another
	for _, form := range contained {
		text = strings.ReplaceAll(text, form, redacted)
	}
	return cosi.RedactURLs(text)
}

// forms returns the ways to write a secret in a message, the plain one first.
func forms(value string) secret {
	quoted := strconv.Quote(value)
	others := []string{
		url.QueryEscape(value), url.PathEscape(value), quoted[1 : len(quoted)-1],
		base64.RawStdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	if text, err := json.Marshal(value); err == nil {
		others = append(others, string(text[1:len(text)-1]))
	}
	slices.Sort(others)
	others = slices.DeleteFunc(slices.Compact(others), func(form string) bool { return form == value })
	return append(secret{value}, others...)
}

// accountKey is the key of the account ID in the context of a call.
type accountKey struct{}

// withAccount returns the context for a call with the account of the request.
func withAccount(ctx context.Context, request any) context.Context {
	if named, ok := request.(interface{ GetAccountId() string }); ok {
		return context.WithValue(ctx, accountKey{}, named.GetAccountId())
	}
	return ctx
}

func accountIn(ctx context.Context) string {
	account, ok := ctx.Value(accountKey{}).(string)
	if !ok {
		return ""
	}
	return account
}

// redact returns the error of a call without secrets.
func (v *secretValues) redact(ctx context.Context, err error) error {
	said := status.Convert(err)
	text := v.redactText(accountIn(ctx), said.Message())
	if text == said.Message() {
		return err
	}
	return status.Error(said.Code(), text)
}

// intercept stores the secrets in responses and removes them from errors.
func (v *secretValues) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	err := invoke(ctx, method, request, reply, conn, options...)
	if err != nil {
		return v.redact(ctx, err)
	}
	if response, ok := reply.(proto.Message); ok {
		v.addReturned(accountIn(ctx), cosi.SecretsIn(response))
	}
	return nil
}

// redacting passes the results of calls to a handler, without secrets.
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
