// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// The versions in which the string to sign changed.
const (
	versionFirst    = "2015-04-05"
	versionResource = "2018-11-09"
	versionAgents   = "2020-02-10"
	versionScope    = "2020-12-06"
	versionCreate   = "2026-04-06"
)

// permissionOrder is the order in which a signature lists permissions.
const permissionOrder = "racwdxyltfmeopi"

// accountOrder is that of an account SAS.
const accountOrder = "rwdxylacuptfi"

// signature is a shared access signature after its signature and times were checked.
type signature struct {
	permissions string
	// resources are the types of an account SAS.
	resources string
	account   bool
	// blob, snapshot and version limit the signature to one state.
	resource string
	// delegate is the object ID whose roles limit a user delegation SAS.
	delegate string
	values   url.Values
}

// signed checks the SAS in the query of a request.
func (d *Directory) signed(r *http.Request, account Account, t Target) (signature, error) {
	q := r.URL.Query()
	if q.Get("sv") < versionFirst {
		return signature{}, azerr.AuthenticationFailed("sv is mandatory. Cannot be empty")
	}
	if _, err := time.Parse(time.DateOnly, q.Get("sv")); err != nil {
		return signature{}, azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	var s signature
	var err error
	switch {
	case q.Has("ss") || q.Has("srt"):
		s, err = d.accountSAS(q, account)
	case q.Has("skoid"):
		s, err = d.delegationSAS(q, account, t)
	default:
		s, err = d.serviceSAS(q, account, t)
	}
	if err != nil {
		return s, err
	}
	s.values = q
	return s, d.checkClient(r, q)
}

// checkClient compares the signed address range and protocol.
func (d *Directory) checkClient(r *http.Request, q url.Values) error {
	if q.Get("spr") == "https" && r.TLS == nil {
		return azerr.New(http.StatusForbidden, "AuthorizationProtocolMismatch", "This request is not authorized to perform this operation using this protocol.")
	}
	if p := q.Get("spr"); p != "" && p != "https" && p != "https,http" {
		return azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	allowed := q.Get("sip")
	if allowed == "" {
		return nil
	}
	low, high, _ := strings.Cut(allowed, "-")
	high = cmp.Or(high, low)
	first, err1 := netip.ParseAddr(low)
	last, err2 := netip.ParseAddr(high)
	if err1 != nil || err2 != nil {
		return azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	from, err := netip.ParseAddr(host)
	if err != nil || from.Unmap().Compare(first) < 0 || from.Unmap().Compare(last) > 0 {
		return azerr.New(http.StatusForbidden, "AuthorizationSourceIPMismatch", "This request is not authorized to perform this operation using this source IP "+host+".")
	}
	return nil
}

func (d *Directory) accountSAS(q url.Values, account Account) (signature, error) {
	g := q.Get
	lines := []string{account.Name, g("sp"), g("ss"), g("srt"), g("st"), g("se"), g("sip"), g("spr"), g("sv")}
	if g("sv") >= versionScope {
		lines = append(lines, g("ses"))
	}
	text := strings.Join(lines, "\n") + "\n"
	if err := d.byKey(account, q, text); err != nil {
		return signature{}, err
	}
	for _, field := range []string{"sp", "ss", "srt", "se"} {
		if g(field) == "" {
			return signature{}, azerr.AuthenticationFailed("%s is mandatory. Cannot be empty", field)
		}
	}
	if err := d.window(g("st"), g("se")); err != nil {
		return signature{}, err
	}
	if !strings.Contains(g("ss"), "b") {
		return signature{}, azerr.New(http.StatusForbidden, "AuthorizationServiceMismatch", "This request is not authorized to perform this operation using this service.")
	}
	if strings.Trim(g("sp"), accountOrder) != "" {
		return signature{}, azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	return signature{permissions: g("sp"), resources: g("srt"), account: true}, nil
}

// byKey checks a signature by the account's keys.
func (d *Directory) byKey(account Account, q url.Values, texts ...string) error {
	if account.SharedKeyOff {
		return azerr.New(http.StatusForbidden, "KeyBasedAuthenticationNotPermitted", "Key based authentication is not permitted on this storage account.")
	}
	for _, text := range texts {
		if signedBy(account.Keys[:], q.Get("sig"), text) {
			return nil
		}
	}
	return azerr.AuthenticationFailed("Signature did not match. String to sign used was %s", texts[0])
}

func (d *Directory) serviceSAS(q url.Values, account Account, t Target) (signature, error) {
	resource, err := signedResource(q, t)
	if err != nil {
		return signature{}, err
	}
	g := q.Get
	lines := []string{g("sp"), g("st"), g("se"), resource, g("si"), g("sip"), g("spr"), g("sv")}
	lines = append(lines, resourceLines(q)...)
	if err := d.byKey(account, q, strings.Join(append(lines, responseLines(q)...), "\n")); err != nil {
		return signature{}, err
	}
	permissions, start, expiry := g("sp"), g("st"), g("se")
	if g("si") != "" {
		p, err := t.policy(g("si"))
		if err != nil {
			return signature{}, err
		}
		if permissions, start, expiry, err = combine(q, p); err != nil {
			return signature{}, err
		}
	}
	if expiry == "" {
		return signature{}, azerr.AuthenticationFailed("se is mandatory. Cannot be empty")
	}
	return d.scoped(q, permissions, start, expiry)
}

// combine returns each field from the signature or from the stored policy. It rejects a field that both contain.
func combine(q url.Values, p store.Policy) (permissions, start, expiry string, err error) {
	fields := []struct{ signed, stored string }{
		{q.Get("sp"), p.Permission}, {q.Get("st"), store.StampOf(p.Start)}, {q.Get("se"), store.StampOf(p.Expiry)},
	}
	out := make([]string, len(fields))
	for i, f := range fields {
		if f.signed != "" && f.stored != "" {
			return "", "", "", azerr.AuthenticationFailed("Access policy fields can be associated with signature or SAS identifier but not both.")
		}
		out[i] = f.signed + f.stored
	}
	return out[0], out[1], out[2], nil
}

// scoped checks times and permissions of a SAS for a container or a blob.
func (d *Directory) scoped(q url.Values, permissions, start, expiry string) (signature, error) {
	if err := d.window(start, expiry); err != nil {
		return signature{}, err
	}
	if permissions == "" {
		return signature{}, azerr.AuthenticationFailed("sp is mandatory. Cannot be empty")
	}
	if q.Get("sp") != "" && !Ordered(q.Get("sp")) {
		return signature{}, azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	return signature{permissions: permissions, resource: q.Get("sr")}, nil
}

// Ordered reports whether permissions consists of known letters in the canonical order without duplicates.
func Ordered(permissions string) bool {
	last := -1
	for _, c := range permissions {
		at := strings.IndexRune(permissionOrder, c)
		if at <= last {
			return false
		}
		last = at
	}
	return true
}

// signedResource returns the canonical name of the resource that sr refers to.
func signedResource(q url.Values, t Target) (string, error) {
	if t.Container == "" {
		return "", azerr.AuthenticationFailed("The signature is for a container or a blob, but the request is for the account.")
	}
	name := "/blob/" + t.Account + "/" + t.Container
	switch q.Get("sr") {
	case "c":
		return name, nil
	case "b", "bs", "bv":
		return name + "/" + t.Blob, nil
	case "d":
		return signedDirectory(name, q, t)
	case "":
		return "", azerr.AuthenticationFailed("sr is mandatory. Cannot be empty")
	}
	return "", azerr.AuthenticationFailed("Signature fields not well formed.")
}

// signedDirectory returns the canonical name of the directory that contains the blob, with the depth that the signature
// has. Accounts without a hierarchical namespace also accept such signatures (live tests of azblob v1.8.3).
func signedDirectory(container string, q url.Values, t Target) (string, error) {
	depth, err := strconv.Atoi(q.Get("sdd"))
	if err != nil || depth < 0 || q.Get("sv") < versionAgents {
		return "", azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	parts := strings.Split(t.Blob, "/")
	return strings.Join(append([]string{container}, parts[:min(depth, len(parts))]...), "/"), nil
}

func resourceLines(q url.Values) []string {
	g := q.Get
	var lines []string
	if g("sv") >= versionResource {
		lines = append(lines, g("sr"), signedTime(q))
	}
	if g("sv") >= versionScope {
		lines = append(lines, g("ses"))
	}
	return lines
}

// signedTime is the snapshot or version that the signature is limited to.
func signedTime(q url.Values) string {
	switch q.Get("sr") {
	case "bs":
		return q.Get("snapshot")
	case "bv":
		return q.Get("versionid")
	}
	return ""
}

func responseLines(q url.Values) []string {
	return []string{q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct")}
}

// window checks the times of a signature.
func (d *Directory) window(start, expiry string) error {
	end, err := ParseTime(expiry)
	if err != nil {
		return azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	begin, err := ParseOptionalTime(start)
	if err != nil {
		return azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	now := d.now().UTC()
	if now.Before(begin) || !now.Before(end) {
		return azerr.AuthenticationFailed("Signature not valid in the specified time frame: Start [%s] - Expiry [%s] - Current [%s]", start, expiry, now.Format(http.TimeFormat))
	}
	return nil
}

// ParseTime parses a time in any format that is valid in shared access signatures and stored access policies.
func ParseTime(value string) (time.Time, error) {
	var err error
	for _, layout := range []string{"2006-01-02T15:04:05.9999999Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02"} {
		var t time.Time
		if t, err = time.Parse(layout, value); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a valid time: %w", value, err)
}

// ParseOptionalTime is ParseTime for a time that may be "", which it returns as the zero time.
func ParseOptionalTime(value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	return ParseTime(value)
}

// covers checks that the signature allows the operation on the target.
func (s signature) covers(op Operation, anyOf string) error {
	n := needed[op]
	want := n.service
	if s.account {
		want = n.account
	}
	if (op == PutBlock || op == PutBlockList) && s.values.Get("sv") >= versionCreate {
		want += "c" // "Version 2026-04-06"
	}
	if anyOf != "" && want != "" {
		want = anyOf
	}
	switch {
	case want == "":
		return azerr.AuthorizationFailure
	case s.account && !strings.ContainsAny(s.resources, n.resource):
		return azerr.New(http.StatusForbidden, "AuthorizationResourceTypeMismatch", "This request is not authorized to perform this operation using this resource type.")
	case !s.account && (op == ListBlobs || op == FindBlobsInContainer) && s.resource != "c":
		return azerr.AuthorizationFailure
	case !strings.ContainsAny(s.permissions, want):
		return azerr.PermissionMismatch
	}
	return nil
}

// delegationTexts returns the possible strings to sign of a user delegation SAS. The reference does not state in
// which service versions all of the fields were added, so each form is tried.
func delegationTexts(q url.Values, resource string) []string {
	g := q.Get
	head := []string{g("sp"), g("st"), g("se"), resource, g("skoid"), g("sktid"), g("skt"), g("ske"), g("sks"), g("skv")}
	agents := []string{g("saoid"), g("suoid"), g("scid")}
	tail := append([]string{g("sip"), g("spr"), g("sv")}, resourceLines(q)...)
	response := responseLines(q)
	join := func(parts ...[]string) string { return strings.Join(slices.Concat(parts...), "\n") }
	if g("sv") < versionAgents {
		return []string{join(head, tail, response)}
	}
	delegated := []string{g("skdutid"), g("sduoid")}
	return []string{
		join(head, agents, tail, response),
		join(head, agents, delegated, tail, response),
		join(head, agents, delegated, tail, []string{"", ""}, response),
	}
}
