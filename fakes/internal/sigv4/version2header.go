// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"net/http"
	"strings"
	"time"
)

// isVersion2Header reports whether a request has an Authorization header of Signature Version 2.
func isVersion2Header(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Authorization"), "AWS ")
}

// verifyVersion2Header verifies an Authorization header of Signature Version 2, "AWS ID:signature" ("Signing and
// authenticating REST requests" in the Amazon S3 Developer Guide). AWS still accepts it in us-east-1.
func (v Verifier) verifyVersion2Header(r *http.Request) (*Verified, error) {
	auth := r.Header.Get("Authorization")
	keyID, signature, ok := strings.Cut(strings.TrimPrefix(auth, "AWS "), ":")
	if !ok || keyID == "" {
		return nil, InvalidArgument("Authorization", auth, "AWS authorization header is invalid.  Expected AwsAccessKeyId:signature")
	}
	c := &claim{amzDate: r.Header.Get("X-Amz-Date")}
	values := map[string]string{} // the signature covers x-amz-date among the other headers
	if c.amzDate == "" {
		c.amzDate = r.Header.Get("Date")
		values["Expires"] = c.amzDate
	}
	var err error
	if c.signedAt, err = http.ParseTime(c.amzDate); err != nil {
		if c.signedAt, err = time.Parse(isoFormat, c.amzDate); err != nil {
			return nil, errMissingDate
		}
	}
	if err := v.checkSkew(c); err != nil {
		return nil, err
	}
	signed := Verified{Mode: Header, AccessKeyID: keyID, SecurityToken: r.Header.Get("X-Amz-Security-Token"), SignedAt: c.signedAt}
	return v.compareVersion2(signed, v.version2ToSign(r, parseQuery(r.URL.RawQuery), values), signature)
}
