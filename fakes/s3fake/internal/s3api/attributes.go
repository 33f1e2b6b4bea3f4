// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// buffers are shared by all copies of bodies.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 64<<10)
	return &b
}}

// storedHeaderNames are the standard headers that are kept with an object.
var storedHeaderNames = []string{"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Type", "Expires"}

func (q *request) storedHeaders() map[string]string {
	out := map[string]string{}
	for _, name := range storedHeaderNames {
		v := q.header(name)
		if name == "Content-Encoding" {
			v = withoutChunked(v)
		}
		if q.form == nil && !plain(v) {
			v = fromLatin1(v)
		}
		if v != "" {
			out[name] = v
		}
	}
	if out["Content-Type"] == "" {
		out["Content-Type"] = "binary/octet-stream"
		if q.form == nil && q.r.Header.Values("Content-Type") != nil { // S3 keeps an empty one (recorded by gocloud.dev v0.46.0)
			out["Content-Type"] = ""
		}
	}
	return out
}

// withoutChunked drops aws-chunked, which names the framing and is not stored.
func withoutChunked(v string) string {
	if !strings.Contains(v, "aws-chunked") {
		return v
	}
	kept := slices.DeleteFunc(strings.Split(v, ","), func(s string) bool { return strings.TrimSpace(s) == "aws-chunked" })
	return strings.TrimSpace(strings.Join(kept, ","))
}

// maxMetadata is the limit on the sum of all names and values.
const maxMetadata = 2048

const metadataPrefix = "x-amz-meta-"

func (q *request) metadata(a *store.Attributes) error {
	total := 0
	add := func(name, value string) {
		if key, ok := strings.CutPrefix(strings.ToLower(name), metadataPrefix); ok {
			a.Metadata[key] = q.unescaped(value)
			total += len(key) + len(a.Metadata[key])
		}
	}
	if q.form != nil {
		for name, v := range q.form {
			add(name, v)
		}
	} else {
		for name := range q.r.Header {
			add(name, q.header(name))
		}
	}
	if total > maxMetadata {
		return awserr.New(http.StatusBadRequest, "MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size").
			With("Size", itoa(total)).With("MaxSizeAllowed", itoa(maxMetadata))
	}
	return nil
}

// unescaped returns the text of a metadata value. In a header it is encoded as in RFC 2047, and other bytes are
// interpreted as ISO 8859-1. In a form it is UTF-8 ("Working with object metadata" in the Amazon S3 User Guide).
func (q *request) unescaped(v string) string {
	if q.form != nil {
		return v
	}
	if plain(v) {
		decoded, err := new(mime.WordDecoder).DecodeHeader(encodedWord.ReplaceAllStringFunc(v, repaired))
		if err == nil {
			return decoded
		}
		return v
	}
	return fromLatin1(v)
}

// encodedWord is a word in the encoding B of RFC 2047.
var encodedWord = regexp.MustCompile(`(?i)^(=\?utf-8\?b\?)([^?]*)\?=$`)

// repaired decodes a word that is not valid base64 as S3 does: other characters have all bits set, and each byte that is
// not UTF-8 is replaced, as by the conversion to runes.
func repaired(word string) string {
	parts := encodedWord.FindStringSubmatch(word)
	if _, err := base64.StdEncoding.DecodeString(parts[2]); err == nil {
		return word
	}
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	filled := strings.Map(func(r rune) rune {
		if strings.ContainsRune(digits, r) {
			return r
		}
		return '/'
	}, parts[2])
	raw, _ := base64.RawStdEncoding.DecodeString(filled) // what can be decoded
	return parts[1] + base64.StdEncoding.EncodeToString([]byte(string([]rune(string(raw))))) + "?="
}

// escaped is a metadata value as a header carries it: in the encoding Q of RFC 2047 if all characters are printable,
// and in B otherwise.
func escaped(v string) string {
	switch {
	case plain(v):
		return v
	case strings.IndexFunc(v, func(r rune) bool { return r == utf8.RuneError || unicode.Is(unicode.C, r) }) < 0:
		return "=?UTF-8?Q?" + quoted(v) + "?="
	}
	return "=?UTF-8?B?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
}

func quoted(v string) string {
	var b strings.Builder
	for i := range len(v) {
		switch c := v[i]; {
		case c == ' ':
			b.WriteByte('_')
		case c < ' ' || c > '~' || strings.IndexByte("=_?", c) >= 0:
			fmt.Fprintf(&b, "=%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// latin1 is a stored header as S3 sends it: in ISO 8859-1, with spaces for other characters.
func latin1(v string) string {
	if plain(v) {
		return v
	}
	out := make([]byte, 0, len(v))
	for _, r := range v {
		if r > 0xff {
			r = ' '
		}
		out = append(out, byte(r))
	}
	return string(out)
}

// fromLatin1 is the text of bytes in ISO 8859-1.
func fromLatin1(v string) string {
	runes := make([]rune, len(v))
	for i := range len(v) {
		runes[i] = rune(v[i])
	}
	return string(runes)
}

// plain reports whether a header can contain v unencoded.
func plain(v string) bool {
	return strings.IndexFunc(v, func(r rune) bool { return (r < ' ' && r != '\t') || r > '~' }) < 0
}

func checkRedirect(v string) error {
	if v == "" || strings.HasPrefix(v, "/") || strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") {
		return nil
	}
	return awserr.New(http.StatusBadRequest, "InvalidRedirectLocation", "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.")
}

// encryptionHeaders returns the encryption of a new object, using the bucket's default.
func (q *request) encryptionHeaders() (store.Encryption, error) {
	if sealed, ok, err := q.seal(); ok || err != nil {
		return sealed, err
	}
	e := store.Encryption{
		Algorithm: q.header("X-Amz-Server-Side-Encryption"), KeyID: q.header("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"),
		BucketKey: q.header("X-Amz-Server-Side-Encryption-Bucket-Key-Enabled") == "true",
	}
	switch {
	case e.Algorithm == "aws:kms:dsse":
		return e, notImplemented("x-amz-server-side-encryption", "Dual-layer encryption is not supported by this fake.")
	case e.Algorithm != "" && e.Algorithm != "AES256" && e.Algorithm != "aws:kms":
		return e, invalidArgument("x-amz-server-side-encryption", e.Algorithm, "The encryption method specified is not supported")
	case e.KeyID != "" && e.Algorithm != "aws:kms":
		return e, invalidArgument("x-amz-server-side-encryption", e.Algorithm, "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : aws:kms")
	case e.Algorithm == "":
		e = q.bucketEncryption()
	case e.Algorithm == "aws:kms" && q.header("X-Amz-Server-Side-Encryption-Bucket-Key-Enabled") == "":
		e.BucketKey = q.bucketEncryption().BucketKey
	}
	if e.Algorithm == "aws:kms" && e.KeyID == "" {
		e.KeyID = q.managedKey()
	}
	if e.KeyID == "" {
		return e, nil
	}
	e.KeyID = q.keyARN(e.KeyID)
	return e, q.useKey(e, "kms:GenerateDataKey")
}

func (q *request) bucketEncryption() store.Encryption {
	body := configOf[encryptionBody](q.state, configEncryption)
	if len(body.Rule) == 0 || body.Rule[0].Default == nil {
		return store.Encryption{Algorithm: "AES256"}
	}
	r := body.Rule[0]
	return store.Encryption{Algorithm: r.Default.SSEAlgorithm, KeyID: r.Default.KMSMasterKeyID, BucketKey: r.BucketKeyEnabled && r.Default.SSEAlgorithm == "aws:kms"}
}

// managedKey is the ARN of the AWS managed key of S3, whose alias is aws/s3.
func (q *request) managedKey() string {
	sum := sha256.Sum256([]byte(q.Account.Options.ID + "/" + q.region() + "/alias/aws/s3"))
	return q.keyARN(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// keyARN completes a key ID or alias.
func (q *request) keyARN(id string) string {
	if strings.HasPrefix(id, "arn:") {
		return id
	}
	if !strings.HasPrefix(id, "alias/") {
		id = "key/" + id
	}
	return "arn:" + q.Account.Partition + ":kms:" + q.region() + ":" + q.Account.Options.ID + ":" + id
}

// keyID matches the IDs of keys.
var keyID = regexp.MustCompile(`^(mrk-)?[0-9a-f-]{32,36}$`)

// noKey is the error for a KMS key that does not exist in the bucket's region.
func (q *request) noKey(arn, id string) error {
	message := "Key '" + arn + "' does not exist"
	if region := regionOfKey(arn); region != q.region() {
		message = "Invalid arn " + region
	} else if id != "" && !keyID.MatchString(id) {
		message = "Invalid keyId '" + id + "'"
	}
	return awserr.New(http.StatusBadRequest, "KMS.NotFoundException", message)
}

// regionOfKey returns the region in the ARN of a key, or "".
func regionOfKey(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 3 {
		return parts[3]
	}
	return ""
}

var errKMSVersion = invalidArgument("Authorization", "null", "Requests specifying Server Side Encryption with AWS KMS managed keys require AWS Signature Version 4.")

// useKey checks a permission on a KMS key. As its key policy says, the AWS managed key of S3 is available to everyone
// who may use S3 in the account.
//
// S3 passes the object's name to KMS, or the bucket's name if the bucket has a key of its own ("Encryption context"
// in "Using server-side encryption with AWS KMS keys").
func (q *request) useKey(e store.Encryption, action string) error {
	arn := e.KeyID
	_, id, _ := strings.Cut(arn, ":key/")
	switch {
	case q.principal == nil:
		return errAccessDenied
	case q.signed != nil && q.signed.Version2: // seeds are not signed
		return errKMSVersion
	case (strings.HasSuffix(arn, ":alias/aws/s3") || arn == q.managedKey()) && !q.principal.Foreign:
		return nil
	case regionOfKey(arn) != q.region():
		return q.noKey(arn, id)
	case q.KMSKeys != nil && !slices.Contains(q.KMSKeys, id) && !slices.Contains(q.KMSKeys, arn):
		return q.noKey(arn, id)
	}
	context := q.objectARN()
	if e.BucketKey {
		context = q.bucketARN()
	}
	q.conditions().Set("kms:ViaService", "s3."+q.region()+".amazonaws.com")
	q.conditions().Set("kms:EncryptionContext:aws:s3:arn", context)
	return q.authorize(permission{action, arn})
}

// showAttributes sets the headers of an object on a response.
func (q *request) showAttributes(v *store.Version) {
	h := q.w.Header()
	for name, value := range v.Headers {
		h.Set(name, latin1(value))
	}
	for name, value := range v.Metadata {
		h[metadataPrefix+name] = []string{escaped(value)} // in lower case, as S3 sends it: some clients keep the case
	}
	if v.StorageClass != "" && v.StorageClass != "STANDARD" {
		h.Set("X-Amz-Storage-Class", v.StorageClass)
	}
	if v.Redirect != "" {
		h.Set("X-Amz-Website-Redirect-Location", v.Redirect)
	}
	if n := len(v.Tags); n > 0 && q.may("s3:GetObjectTagging", q.objectARN()) {
		h.Set("X-Amz-Tagging-Count", strconv.Itoa(n))
	}
	q.showLock(v)
	q.showEncryption(v.Encryption)
}

func (q *request) showLock(v *store.Version) {
	h := q.w.Header()
	if v.Lock.Mode != "" && q.may("s3:GetObjectRetention", q.objectARN()) {
		h.Set("X-Amz-Object-Lock-Mode", v.Lock.Mode)
		h.Set("X-Amz-Object-Lock-Retain-Until-Date", stamp(v.Lock.RetainUntil))
	}
	if v.Lock.LegalHold != "" && q.may("s3:GetObjectLegalHold", q.objectARN()) {
		h.Set("X-Amz-Object-Lock-Legal-Hold", v.Lock.LegalHold)
	}
}

func (q *request) showEncryption(e store.Encryption) {
	h := q.w.Header()
	if e.CustomerKey != "" && q.customer != "" {
		q.showCustomerKey()
	}
	if e.Algorithm != "" {
		h.Set("X-Amz-Server-Side-Encryption", e.Algorithm)
	}
	if e.KeyID != "" {
		h.Set("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id", e.KeyID)
	}
	if e.BucketKey {
		h.Set("X-Amz-Server-Side-Encryption-Bucket-Key-Enabled", "true")
	}
}
