// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

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
	// maxGiven bounds the memory for all secrets that the driver gave, in bytes. It
	// is enough for tens of thousands of accounts.
	maxGiven = 32 << 20
	// perSecret is about what a secret takes beside its value.
	perSecret = 512
)

// secretValues are the secrets that the driver gave out. A driver must not put
// one into a message, and one that does must not bring it into conditions,
// Events, logs and traces, whomever the message is about. They are known in plain,
// since no text can be searched for a digest, until their account is revoked or
// too many others were given since.
type secretValues struct {
	mu       sync.Mutex
	accounts map[string]*accountSecrets
	grants   uint64
	// size is what the given secrets take, in bytes.
	size int
	// holders counts the accounts that a secret was given for.
	holders map[string]int
	// byMiddle has the given secrets by the middle of each of their forms: however
	// many there are, a text is searched once. All private keys begin alike.
	byMiddle map[string][]string
}

// accountSecrets are the secrets of one account, the newest last.
type accountSecrets struct {
	// given are from the driver's responses, found from access Secrets, of which
	// nothing proves that no user wrote them: users must not blank what others read.
	given, found []string
	// grant is the number of the last grant.
	grant uint64
}

// give notes the secrets that a response has for an account.
func (v *secretValues) give(account string, secrets []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.of(account, secrets)
	if a == nil {
		return
	}
	v.grants++
	a.grant = v.grants
	for _, secret := range secrets {
		if knowable(secret) && !slices.Contains(a.given, secret) {
			a.given = append(a.given, secret)
			v.hold(secret)
			v.release(a, len(a.given)-keptSecrets)
		}
	}
	for v.size > maxGiven {
		oldest := v.oldest()
		v.release(oldest, len(oldest.given))
	}
}

// find notes the secrets that an access Secret has for an account.
func (v *secretValues) find(account string, secrets []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	a := v.of(account, secrets)
	for _, secret := range secrets {
		if a != nil && knowable(secret) && !slices.Contains(a.found, secret) {
			a.found = slices.Concat(a.found[max(0, len(a.found)+1-keptSecrets):], []string{secret})
		}
	}
}

// of returns what is known of an account; nil if there is nothing to be known.
func (v *secretValues) of(account string, secrets []string) *accountSecrets {
	if account == "" || !slices.ContainsFunc(secrets, knowable) {
		return nil
	}
	if v.accounts == nil {
		v.accounts, v.holders, v.byMiddle = map[string]*accountSecrets{}, map[string]int{}, map[string][]string{}
	}
	if v.accounts[account] == nil {
		v.accounts[account] = &accountSecrets{}
	}
	return v.accounts[account]
}

func knowable(secret string) bool {
	return len(secret) >= minSecret && len(secret) <= cosi.MaxCredentialLength
}

// oldest returns the account whose grant is the longest ago, of those with given
// secrets.
func (v *secretValues) oldest() *accountSecrets {
	var oldest *accountSecrets
	for _, a := range v.accounts {
		if len(a.given) > 0 && (oldest == nil || a.grant < oldest.grant) {
			oldest = a
		}
	}
	return oldest
}

// forget forgets an account.
func (v *secretValues) forget(account string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if a := v.accounts[account]; a != nil {
		v.release(a, len(a.given))
		delete(v.accounts, account)
	}
}

func (v *secretValues) hold(secret string) {
	v.holders[secret]++
	if v.holders[secret] > 1 {
		return
	}
	v.size += len(secret) + perSecret
	for _, form := range forms(secret) {
		v.byMiddle[middle(form)] = append(v.byMiddle[middle(form)], secret)
	}
}

// release forgets the n oldest of the given secrets of an account.
func (v *secretValues) release(a *accountSecrets, n int) {
	for ; n > 0; n-- {
		secret := a.given[0]
		a.given = slices.Clone(a.given[1:])
		v.holders[secret]--
		if v.holders[secret] > 0 {
			continue
		}
		delete(v.holders, secret)
		v.size -= len(secret) + perSecret
		for _, form := range forms(secret) {
			at := middle(form)
			v.byMiddle[at] = slices.DeleteFunc(v.byMiddle[at], func(other string) bool { return other == secret })
			if len(v.byMiddle[at]) == 0 {
				delete(v.byMiddle, at)
			}
		}
	}
}

// without returns a text about an account without the secrets that were given for
// any, those in the account's own Secrets, and passwords in URLs.
func (v *secretValues) without(account, text string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	suspects := map[string]bool{}
	if a := v.accounts[account]; a != nil {
		for _, secret := range a.found {
			suspects[secret] = true
		}
	}
	for i := range max(0, len(text)+1-minSecret) {
		for _, secret := range v.byMiddle[text[i:i+minSecret]] {
			suspects[secret] = true
		}
	}
	longest := func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) } // one may be part of another
	for _, secret := range slices.SortedFunc(maps.Keys(suspects), longest) {
		for _, form := range forms(secret) {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	return cosi.RedactURLs(text)
}

// middle returns the bytes in the middle of a form, by which it is found.
func middle(form string) string {
	at := (len(form) - minSecret) / 2
	return strings.Clone(form[at : at+minSecret])
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
	slices.Sort(all)
	return slices.Compact(all)
}
