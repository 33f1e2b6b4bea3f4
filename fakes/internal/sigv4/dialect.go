// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
)

// Dialect is a variant of Signature Version 4. The variants differ mainly in names. They are those of AWS and of
// Google Cloud Storage ("V4 signing process" in its documentation), the latter with an HMAC key or a service
// account's RSA key.
type Dialect struct {
	algorithm, keyPrefix, terminator, header string

	asymmetric bool
}

// The dialects. The zero Dialect is AWS.
var (
	AWS       = Dialect{algorithm, "AWS4", terminator, "X-Amz-", false}
	Google    = Dialect{"GOOG4-HMAC-SHA256", "GOOG4", "goog4_request", "X-Goog-", false}
	GoogleRSA = Dialect{"GOOG4-RSA-SHA256", "", "goog4_request", "X-Goog-", true}
)

func (d Dialect) orAWS() Dialect {
	if d.algorithm == "" {
		return AWS
	}
	return d
}

// DialectOf returns the dialect in which r is signed. ok is false if r has no Signature Version 4.
func DialectOf(r *http.Request) (d Dialect, ok bool) {
	kind, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	for _, d := range []Dialect{AWS, Google, GoogleRSA} {
		if kind == d.algorithm {
			return d, true
		}
	}
	if kind != "" || !strings.Contains(r.URL.RawQuery, "-Algorithm=") {
		return Dialect{}, false
	}
	for _, p := range parseQuery(r.URL.RawQuery) {
		switch {
		case p.name == "X-Goog-Algorithm" && p.value == GoogleRSA.algorithm:
			return GoogleRSA, true
		case p.name == "X-Goog-Algorithm":
			return Google, true
		case p.name == "X-Amz-Algorithm":
			return AWS, true
		}
	}
	return Dialect{}, false
}

// signedBy reports whether one of the keys created the signature of a text. The signature must be in lower-case
// hexadecimal, as for an HMAC, so that each signature has only one URL.
func signedBy(keys []*rsa.PublicKey, toSign, signature string) bool {
	raw, err := hex.DecodeString(signature)
	if err != nil || hex.EncodeToString(raw) != signature {
		return false
	}
	sum := sha256.Sum256([]byte(toSign))
	return slices.ContainsFunc(keys, func(key *rsa.PublicKey) bool { return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) == nil })
}
