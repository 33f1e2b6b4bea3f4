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

// VerifyForm verifies the signature of a browser upload (POST policy). fields are the form's fields with lower-case
// names. If the form is not signed, VerifyForm returns nil and no error.
func (v Verifier) VerifyForm(fields map[string]string) (*Verified, error) {
	d := v.Dialect.orAWS()
	field := func(rest string) string { return strings.ToLower(d.header) + rest }
	if fields["policy"] == "" && fields[field("signature")] == "" && fields[field("credential")] == "" {
		if fields["awsaccesskeyid"] != "" {
			return nil, ErrVersion2
		}
		return nil, nil
	}
	if fields["awsaccesskeyid"] != "" || fields["signature"] != "" {
		if !v.Version2 {
			return nil, ErrVersion2
		}
		return v.verifyFormVersion2(fields)
	}
	if d == AWS && fields[field("algorithm")] == "" && fields[field("credential")] == "" && fields[field("signature")] == "" {
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Access Denied")
	}
	if err := checkFields(fields, d, "policy", field("algorithm"), field("credential"), field("date"), field("signature")); err != nil {
		return nil, err
	}
	if fields[field("algorithm")] != d.algorithm {
		return nil, InvalidArgument(formName(field("algorithm")), fields[field("algorithm")], "Only "+d.algorithm+" is supported")
	}
	credential := fields[field("credential")]
	c := &claim{dialect: d, mode: Form, signature: fields[field("signature")], securityToken: fields[field("security-token")]}
	var err error
	if c.accessKeyID, c.scope, err = parseCredential(credential, v.Expect, d, formMalformed(credential)); err != nil {
		return nil, err
	}
	if err := c.setDate(fields[field("date")]); err != nil {
		return nil, InvalidArgument(formName(field("date")), fields[field("date")], formName(field("date"))+" must be formated via ISO8601 Long format")
	}
	secret, err := v.lookup(c)
	if err != nil {
		return nil, err
	}
	return c.compareForm(secret, fields["policy"])
}

// checkFields returns an error if the form lacks one of the fields with these names.
func checkFields(fields map[string]string, d Dialect, names ...string) error {
	for _, name := range names {
		if _, ok := fields[name]; !ok && d == AWS {
			return missingField(formName(name))
		} else if !ok {
			return InvalidArgument(name, "",
				"Bucket POST must contain a field named '"+formName(name)+"'.  If it is specified, please check the order of the fields.")
		}
	}
	return nil
}

// compareForm compares the signature of a policy document with the one that it must have.
func (c *claim) compareForm(secret, policy string) (*Verified, error) {
	key, good := c.matches(secret, policy)
	if !good {
		return nil, mismatch(c.accessKeyID, policy, c.signature)
	}
	return c.verified(key, UnsignedPayload), nil
}

// FormDialect returns the dialect in which a form is signed. Forms without fields of Google's dialects use AWS.
func FormDialect(fields map[string]string) Dialect {
	for _, d := range []Dialect{GoogleRSA, Google} {
		if fields["x-goog-algorithm"] == d.algorithm {
			return d
		}
	}
	if fields["x-goog-algorithm"] != "" || fields["x-goog-signature"] != "" {
		return GoogleRSA
	}
	return AWS
}

// SignatureField returns the name of the form field with the signature, in lower case.
func (d Dialect) SignatureField() string { return strings.ToLower(d.orAWS().header) + "signature" }

// formName is the spelling in which the service names a form field in its errors.
func formName(lower string) string {
	if !strings.HasPrefix(lower, "x-amz-") && !strings.HasPrefix(lower, "x-goog-") {
		return lower
	}
	words := strings.Split(lower, "-")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "-")
}
