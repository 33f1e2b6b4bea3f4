// SPDX-License-Identifier: Apache-2.0

package postform_test

import (
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/postform"
)

// clientError asserts that an error is one that the service returns to a client.
func clientError(t *testing.T, err error) {
	t.Helper()
	var response *awserr.Error
	if err != nil && (!errors.As(err, &response) || response.Status < http.StatusBadRequest || response.Status >= http.StatusInternalServerError) {
		t.Errorf("the error is %v, which is no response of the service", err)
	}
}

// FuzzPolicies judges forms by arbitrary policy documents. A form is never let through after the document's end.
func FuzzPolicies(f *testing.F) {
	f.Add(`{"expiration": "2030-01-01T00:00:00Z", "conditions": [{"bucket": "b"}, ["starts-with", "$key", "a/"], ["content-length-range", 1, 10]]}`, "a/b")
	f.Add(`{"expiration": "2030-01-01T00:00:00Z", "conditions": [["eq", "$key"]]}`, "")
	f.Add(`{"expiration": 5, "conditions": {}}`, "x")
	f.Fuzz(func(t *testing.T, document, key string) {
		policy, err := postform.ParsePolicy(base64.StdEncoding.EncodeToString([]byte(document)))
		clientError(t, err)
		if err != nil {
			return
		}
		form := map[string]string{"key": key, "policy": document}
		clientError(t, policy.Check(time.Time{}, "b", []string{"x-amz-signature"}, form))
		clientError(t, policy.CheckSize(1))
		if err := policy.Check(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC).Add(48*time.Hour), "b", []string{"x-amz-signature"}, form); err == nil {
			t.Errorf("a form is accepted after the policy has expired: %s", document)
		}
	})
}

// FuzzForms reads arbitrary bodies as forms.
func FuzzForms(f *testing.F) {
	const boundary = "b"
	f.Add("--b\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\na\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nhello\r\n--b--\r\n")
	f.Add("--b\r\n\r\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, body string) {
		form, err := postform.Read(multipart.NewReader(strings.NewReader(body), boundary))
		clientError(t, err)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, form.File); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the file cannot be read: %v", err)
		}
		for name := range form.Fields {
			if name != strings.ToLower(name) {
				t.Errorf("the field %q is not in lower case", name)
			}
		}
	})
}
