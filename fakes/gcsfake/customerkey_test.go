// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"cloud.google.com/go/storage"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

const (
	upHard = "/upload/storage/v1/b/hard/o"
	secret = "/storage/v1/b/hard/o/secret"
	plain  = "/storage/v1/b/hard/o/plain"
)

// docKeys is where the expected values about customer-supplied keys come from; reasons are those of docStatus.
const docKeys = "Customer-supplied encryption keys: https://cloud.google.com/storage/docs/encryption/customer-supplied-keys"

// customerKey is a key of one letter.
func customerKey(letter byte) []byte { return bytes.Repeat([]byte{letter}, 32) }

// keyHeaders are the headers with a key; infix is "Copy-Source-" for that of a source.
func keyHeaders(infix string, letter byte) string {
	key := customerKey(letter)
	sum := sha256.Sum256(key)
	return rawKeyHeaders(infix, "AES256", base64.StdEncoding.EncodeToString(key), base64.StdEncoding.EncodeToString(sum[:]))
}

func rawKeyHeaders(infix, algorithm, key, sum string) string {
	prefix := "\nX-Goog-" + infix + "Encryption-"
	return prefix[1:] + "Algorithm: " + algorithm + prefix + "Key: " + key + prefix + "Key-Sha256: " + sum
}

// keyOperations use customer-supplied keys. They need the same permissions as the calls without keys.
func keyOperations() map[string]operation {
	const create, read, remove = "storage.objects.create", "storage.objects.get", "storage.objects.delete"
	own := keyHeaders("", 'k')
	out := map[string]operation{
		"storage.objects.insert with a key":         {method: "POST", path: upHard + "?uploadType=media&name=new", headers: own, body: "x", permissions: []string{create}, status: 200},
		"storage.objects.insert over a key":         {method: "POST", path: upHard + "?uploadType=media&name=secret", body: "x", permissions: []string{create, remove}, status: 200},
		"storage.objects.get with a key":            {method: "GET", path: secret + "?alt=media", headers: own, permissions: []string{read}, status: 200},
		"storage.objects.get metadata and a key":    {method: "GET", path: secret, headers: own, permissions: []string{read}, status: 200},
		"storage.objects.get metadata without key":  {method: "GET", path: secret, permissions: []string{read}, status: 200},
		"storage.objects.patch without key":         {method: "PATCH", path: secret, body: `{"metadata":{"a":"b"}}`, permissions: []string{"storage.objects.update"}, status: 200},
		"storage.objects.delete without key":        {method: "DELETE", path: secret, permissions: []string{remove}, status: 204},
		"storage.objects.copy with a key":           {method: "POST", path: secret + "/copyTo/b/hard/o/new", headers: own, permissions: []string{create, read}, status: 200},
		"storage.objects.rewrite to another key":    {method: "POST", path: secret + "/rewriteTo/b/hard/o/new", headers: keyHeaders("Copy-Source-", 'k') + "\n" + keyHeaders("", 'n'), permissions: []string{create, read}, status: 200},
		"storage.objects.rewrite to no key":         {method: "POST", path: secret + "/rewriteTo/b/hard/o/new", headers: keyHeaders("Copy-Source-", 'k'), permissions: []string{create, read}, status: 200},
		"storage.objects.rewrite of a plain object": {method: "POST", path: plain + "/rewriteTo/b/hard/o/new", headers: own, permissions: []string{create, read}, status: 200},
		"storage.objects.compose with a key":        {method: "POST", path: "/storage/v1/b/hard/o/new/compose", headers: own, body: `{"sourceObjects":[{"name":"secret"}]}`, permissions: []string{create, read}, status: 200},
		"xml.PutObject with a key":                  {method: "PUT", path: "/hard/new", headers: own, body: "x", permissions: []string{create}, status: 200},
		"xml.GetObject with a key":                  {method: "GET", path: "/hard/secret", headers: own, permissions: []string{read}, status: 200},
		"xml.HeadObject without key":                {method: "HEAD", path: "/hard/secret", permissions: []string{read}, status: 200},
		"xml.UploadPart with a key":                 {method: "PUT", path: "/hard/m?partNumber=1&uploadId={keyed upload}", headers: own, body: "x", permissions: []string{"storage.multipartUploads.create", create}, status: 200},
	}
	for name, op := range out {
		op.doc = docKeys
		out[name] = op
	}
	return out
}

// keyRefusals has refusals of docKeys.
func keyRefusals() map[string]refusal {
	key := base64.StdEncoding.EncodeToString(customerKey('k'))
	_, sum, _ := strings.Cut(keyHeaders("", 'k'), "Sha256: ")
	read := func(headers string) operation {
		return operation{method: "GET", path: secret + "?alt=media", headers: headers}
	}
	return map[string]refusal{
		"the content of an encrypted object without its key": {read(""), 400, "resourceIsEncryptedWithCustomerEncryptionKey"},
		"the content of an encrypted object by another key":  {read(keyHeaders("", 'x')), 400, "customerEncryptionKeyIsIncorrect"},
		"the content of a plain object by a key":             {operation{method: "GET", path: plain + "?alt=media", headers: keyHeaders("", 'k')}, 400, "resourceNotEncryptedWithCustomerEncryptionKey"},
		"the metadata of an encrypted object by another key": {operation{method: "GET", path: secret, headers: keyHeaders("", 'x')}, 400, "customerEncryptionKeyIsIncorrect"},
		"a key without its algorithm":                        {read(rawKeyHeaders("", "", key, sum)), 400, "customerEncryptionAlgorithmIsInvalid"},
		"a key of another algorithm":                         {read(rawKeyHeaders("", "AES128", key, sum)), 400, "customerEncryptionAlgorithmIsInvalid"},
		"a key that is not base64":                           {read(rawKeyHeaders("", "AES256", "?", sum)), 400, "customerEncryptionKeyFormatIsInvalid"},
		"a key that is too short":                            {read(rawKeyHeaders("", "AES256", "a2V5", sum)), 400, "customerEncryptionKeyFormatIsInvalid"},
		"a hash without its key":                             {read(rawKeyHeaders("", "AES256", "", sum)), 400, "customerEncryptionKeyFormatIsInvalid"},
		"a key without its hash":                             {read(rawKeyHeaders("", "AES256", key, "")), 400, "customerEncryptionKeySha256IsInvalid"},
		"a key with the hash of another":                     {read(rawKeyHeaders("", "AES256", key, key)), 400, "customerEncryptionKeySha256IsInvalid"},
		"an upload with a key that is none":                  {operation{method: "POST", path: upHard + "?uploadType=media&name=new", headers: rawKeyHeaders("", "AES256", "?", sum)}, 400, "customerEncryptionKeyFormatIsInvalid"},
		"an upload with two kinds of keys":                   {operation{method: "POST", path: upHard + "?uploadType=media&name=new&kmsKeyName=projects/p/locations/l/keyRings/r/cryptoKeys/k", headers: keyHeaders("", 'k')}, 400, "both"},
		"a copy of an encrypted object without its key":      {operation{method: "POST", path: secret + "/copyTo/b/hard/o/new"}, 400, "resourceIsEncryptedWithCustomerEncryptionKey"},
		"a rewrite with the key of the copy alone":           {operation{method: "POST", path: secret + "/rewriteTo/b/hard/o/new", headers: keyHeaders("", 'k')}, 400, "resourceIsEncryptedWithCustomerEncryptionKey"},
		"a rewrite by another key":                           {operation{method: "POST", path: secret + "/rewriteTo/b/hard/o/new", headers: keyHeaders("Copy-Source-", 'x')}, 400, "customerEncryptionKeyIsIncorrect"},
		"a rewrite of a plain object by a key":               {operation{method: "POST", path: plain + "/rewriteTo/b/hard/o/new", headers: keyHeaders("Copy-Source-", 'k')}, 400, "resourceNotEncryptedWithCustomerEncryptionKey"},
		"a composition of encrypted objects without key":     {operation{method: "POST", path: "/storage/v1/b/hard/o/new/compose", body: `{"sourceObjects":[{"name":"secret"}]}`}, 400, "resourceIsEncryptedWithCustomerEncryptionKey"},
		"a composition of plain objects with a key":          {operation{method: "POST", path: "/storage/v1/b/hard/o/new/compose", headers: keyHeaders("", 'k'), body: `{"sourceObjects":[{"name":"plain"}]}`}, 400, "resourceNotEncryptedWithCustomerEncryptionKey"},
		"a move of an encrypted object without its key":      {operation{method: "POST", path: secret + "/moveTo/o/new"}, 400, "resourceIsEncryptedWithCustomerEncryptionKey"},
		"XML of an encrypted object without its key":         {operation{method: "GET", path: "/hard/secret"}, 400, "ResourceIsEncryptedWithCustomerEncryptionKey"},
		"XML of an encrypted object by another key":          {operation{method: "GET", path: "/hard/secret", headers: keyHeaders("", 'x')}, 400, "CustomerEncryptionKeyIsIncorrect"},
		"XML of a part without the key of its upload":        {operation{method: "PUT", path: "/hard/m?partNumber=1&uploadId={keyed upload}", body: "x"}, 400, "ResourceIsEncryptedWithCustomerEncryptionKey"},
		"XML of a part with a key in the headers of S3":      {operation{method: "PUT", path: "/docs/m?partNumber=1&uploadId={upload}", headers: "X-Amz-Server-Side-Encryption-Customer-Algorithm: AES256", body: "x"}, 400, "x-goog-encryption-"},
		"XML of a key in the headers of S3":                  {operation{method: "PUT", path: "/hard/new", headers: "X-Amz-Server-Side-Encryption-Customer-Algorithm: AES256", body: "x"}, 400, "x-goog-encryption-"},
	}
}

// TestCustomerSuppliedKeys has Google's client write, read, compose, rotate and drop its own keys, in a store that is
// reopened in between.
func TestCustomerSuppliedKeys(t *testing.T) {
	t.Parallel()
	options := gcsfake.Options{Dir: t.TempDir() + "/data"}
	f := start(t, options)
	b, ctx := f.bucket(t, "data"), t.Context()
	first, second := customerKey('1'), customerKey('2')
	large := body(600 << 10)
	for name, chunk := range map[string]int{"one": 0, "chunks": 256 << 10} {
		if err := write(ctx, b.Object(name).Key(first), large, chunk); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	wantNoError(t, f.Close())
	f = start(t, options)
	b = f.storage(t, f.adminKey(t)).Bucket("data")
	wants := func(what string, o *storage.ObjectHandle, want []byte, code int) {
		t.Helper()
		if got, err := read(ctx, o); status(err) != code || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v, want %d bytes and status %d", what, len(got), err, len(want), code)
		}
	}
	for _, name := range []string{"one", "chunks"} {
		wants("with its key", b.Object(name).Key(first), large, 0)
		wants("with another key", b.Object(name).Key(second), nil, http.StatusBadRequest)
		wants("without a key", b.Object(name), nil, http.StatusBadRequest)
	}
	with, err := b.Object("one").Key(first).Attrs(ctx)
	if err != nil || with.CustomerKeySHA256 == "" || len(with.MD5) == 0 || with.CRC32C == 0 {
		t.Errorf("attributes with the key: %+v, %v", with, err)
	}
	without, err := b.Object("one").Attrs(ctx)
	if err != nil || without.CustomerKeySHA256 != with.CustomerKeySHA256 || len(without.MD5) > 0 || without.CRC32C != 0 {
		t.Errorf("attributes without the key: %+v, %v", without, err)
	}
	if _, err := b.Object("sum").Key(first).ComposerFrom(b.Object("one"), b.Object("chunks")).Run(ctx); err != nil {
		t.Error(err)
	}
	wants("a composition", b.Object("sum").Key(first), append(bytes.Clone(large), large...), 0)
	if _, err := b.Object("rotated").Key(second).CopierFrom(b.Object("one").Key(first)).Run(ctx); err != nil {
		t.Error(err)
	}
	wants("after rotation, with the new key", b.Object("rotated").Key(second), large, 0)
	wants("after rotation, with the former key", b.Object("rotated").Key(first), nil, http.StatusBadRequest)
	if _, err := b.Object("open").CopierFrom(b.Object("rotated").Key(second)).Run(ctx); err != nil {
		t.Error(err)
	}
	wants("after the key was dropped", b.Object("open"), large, 0)
}
