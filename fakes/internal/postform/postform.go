// SPDX-License-Identifier: Apache-2.0

// Package postform parses browser uploads by HTML form and checks them against the policy document in the form. It
// follows Amazon S3 ("Browser-based uploads using POST") and Cloud Storage ("Upload an object with HTML forms"). It
// does not verify signatures; package sigv4 does.
package postform

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// maxForm bounds the fields of a form without its file.
const maxForm = 20 << 10

var (
	malformed = awserr.New(http.StatusBadRequest, "MalformedPOSTRequest", "The body of your POST request is not well-formed multipart/form-data.")
	tooLarge  = awserr.New(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
)

// Form contains the fields of a form before its file, and the file.
type Form struct {
	// Fields maps the names of the fields, in lower case, to their values.
	Fields map[string]string
	// File is the file. Its content has not been read.
	File *multipart.Part
}

// Read reads the fields before the file. It ignores those after the file, as the services do. Its errors are
// *awserr.Error.
func Read(r *multipart.Reader) (*Form, error) {
	form := &Form{Fields: map[string]string{}}
	total := 0
	for {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, sigv4.InvalidArgument("file", "0", "POST requires exactly one file upload per request.")
		}
		if err != nil {
			return nil, malformed
		}
		name := strings.ToLower(part.FormName())
		if name == "file" {
			form.File = part
			return form, nil
		}
		value, err := io.ReadAll(io.LimitReader(part, maxForm+1))
		if err != nil {
			return nil, malformed
		}
		if total += len(value) + len(name); total > maxForm {
			return nil, awserr.New(http.StatusBadRequest, "MaxPostPreDataLengthExceeded", "Your POST request fields preceding the upload file was too large.").
				With("MaxPostPreDataLengthBytes", strconv.Itoa(maxForm))
		}
		if _, twice := form.Fields[name]; twice {
			return nil, sigv4.InvalidArgument(name, "", "POST requires that each field occurs at most once.")
		}
		form.Fields[name] = string(value)
	}
}

// Limit returns a reader that stops if the file is larger than the policy allows, and that translates framing errors.
// A nil policy allows any size.
func (p *Policy) Limit(file io.Reader) io.Reader { return &limited{src: file, policy: p} }

type limited struct {
	src    io.Reader
	policy *Policy
	read   int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.src.Read(p)
	l.read += int64(n)
	if tooLarge := l.policy.checkMax(l.read); tooLarge != nil {
		return n, tooLarge
	}
	var e *awserr.Error
	if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &e) {
		return n, malformed
	}
	return n, err
}
