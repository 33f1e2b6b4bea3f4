// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

func formatSeconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }

// VerifyForm checks the signature of a browser upload (POST policy). fields are the form's fields with
// lower-case names. It returns nil and no error when the form is not signed at all.
func (v Verifier) VerifyForm(fields map[string]string) (*Verified, error) {
	if fields["policy"] == "" && fields["x-amz-signature"] == "" && fields["x-amz-credential"] == "" {
		if fields["awsaccesskeyid"] != "" {
			return nil, errSigV2
		}
		return nil, nil
	}
	if fields["awsaccesskeyid"] != "" || fields["signature"] != "" {
		return nil, errSigV2
	}
	for _, name := range []string{"policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature"} {
		if _, ok := fields[name]; !ok {
			return nil, InvalidArgument(name, "",
				"Bucket POST must contain a field named '"+formName(name)+"'.  If it is specified, please check the order of the fields.")
		}
	}
	if fields["x-amz-algorithm"] != algorithm {
		return nil, InvalidArgument("X-Amz-Algorithm", fields["x-amz-algorithm"], "Only AWS4-HMAC-SHA256 is supported")
	}
	credential := fields["x-amz-credential"]
	c := &claim{mode: Form, signature: fields["x-amz-signature"], securityToken: fields["x-amz-security-token"]}
	var err error
	if c.accessKeyID, c.scope, err = parseCredential(credential, v.Expect, AWS, formMalformed(credential)); err != nil {
		return nil, err
	}
	if err := c.setDate(fields["x-amz-date"]); err != nil {
		return nil, InvalidArgument("X-Amz-Date", fields["x-amz-date"], "X-Amz-Date must be formated via ISO8601 Long format")
	}
	secret, err := v.Lookup(c.accessKeyID, c.securityToken)
	if err != nil {
		return nil, err
	}
	key := signingKey(AWS.keyPrefix, secret, c.scope)
	if !equalSignature(sign(key, fields["policy"]), c.signature) {
		return nil, awserr.New(http.StatusForbidden, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided. Check your key and signing method.").
			With("AWSAccessKeyId", c.accessKeyID).
			With("StringToSign", fields["policy"]).
			With("SignatureProvided", c.signature).
			With("StringToSignBytes", hexBytes(fields["policy"]))
	}
	return c.verified(key, UnsignedPayload), nil
}

// formName is the spelling in which S3 names a form field in its errors.
func formName(lower string) string {
	if !strings.HasPrefix(lower, "x-amz-") {
		return lower
	}
	words := strings.Split(lower, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "-")
}
