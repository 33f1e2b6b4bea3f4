// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"crypto/md5" //nolint:gosec // ETags are MD5 by definition
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/blob"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// maxPut is the largest object or part of one request: 5 GiB.
const maxPut = 5 << 30

// received is a body that has been stored and verified.
type received struct {
	segments []store.Segment
	size     int64
	etag     string
	checksum store.Checksum
	// own is a second checksum, with the requested algorithm in addition to the client's.
	own store.Checksum
}

// receive stores the request's body and verifies it against everything that the client sent about it. algorithm is
// the one to compute if the client sent no checksum.
func (q *request) receive(algorithm checksum.Algorithm) (received, error) {
	want, err := q.checksumHeader()
	if err != nil {
		return received{}, err
	}
	if q.body.Size() > maxPut {
		return received{}, errTooLarge.With("ProposedSize", itoa(int(q.body.Size()))).With("MaxSizeAllowed", itoa(maxPut))
	}
	want.Algorithm = cmp.Or(want.Algorithm, algorithm)
	got, err := q.storeBody(q.body, want.Algorithm, algorithm)
	if err != nil {
		return received{}, err
	}
	if err := q.checkReceived(got, want); err != nil {
		q.Store.Discard(got.segments)
		return received{}, err
	}
	return got, nil
}

// storeBody copies a body into the store, hashing on the way.
func (q *request) storeBody(body io.Reader, algorithm checksum.Algorithm, also ...checksum.Algorithm) (received, error) {
	w := q.Store.Body()
	sum, extra := md5.New(), algorithm.New() //nolint:gosec // see the import
	hashes := []hash.Hash{sum, extra}
	if len(also) > 0 && also[0] != algorithm {
		hashes = append(hashes, also[0].New())
	}
	got, err := drain(w, body, hashes)
	if err != nil {
		return received{}, errors.Join(err, w.Abort())
	}
	got.etag = hex.EncodeToString(sum.Sum(nil))
	got.checksum = store.Checksum{Algorithm: string(algorithm), Value: checksum.Encode(extra), Type: fullObject}
	if len(hashes) > 2 {
		got.own = store.Checksum{Algorithm: string(also[0]), Value: checksum.Encode(hashes[2]), Type: fullObject}
	}
	return got, nil
}

func drain(w *blob.Writer, body io.Reader, hashes []hash.Hash) (received, error) {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		n, err := body.Read(*buf)
		if n > 0 {
			for _, h := range hashes {
				_, _ = h.Write((*buf)[:n]) // a hash never fails
			}
			if _, err := w.Write((*buf)[:n]); err != nil {
				return received{}, err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return received{}, err
		}
	}
	got := received{size: w.Size()}
	if got.size == 0 {
		return got, w.Abort()
	}
	id, err := w.Commit()
	if err != nil {
		return received{}, err
	}
	got.segments = []store.Segment{{ID: id, Size: got.size}}
	return got, nil
}

func (q *request) checkReceived(got received, want wanted) error {
	if v, sent := q.sent("content-md5"); sent {
		raw, err := base64.StdEncoding.DecodeString(v)
		switch {
		case err != nil || len(raw) != md5.Size:
			return errInvalidDigest.With("Content-MD5", v)
		case hex.EncodeToString(raw) != got.etag:
			sum, _ := hex.DecodeString(got.etag)
			expected := hex.EncodeToString(raw)
			if q.op.name == "UploadPart" {
				expected = v
			}
			return errBadDigest.With("ExpectedDigest", expected).With("CalculatedDigest", base64.StdEncoding.EncodeToString(sum))
		}
	}
	value := want.Value
	if want.Trailer != "" {
		value = q.body.Trailer(want.Trailer)
		if !want.Algorithm.Valid(value) {
			return invalidRequest("Value for " + want.Trailer + " trailing header is invalid.")
		}
	}
	if value != "" && value != got.checksum.Value {
		return badChecksum(want.Algorithm)
	}
	return nil
}

// attributes reads everything that a client can set on a new object. The required permissions were checked by
// writePermissions.
func (q *request) attributes() (store.Attributes, error) {
	a := store.Attributes{
		Headers: q.storedHeaders(), Metadata: map[string]string{}, StorageClass: q.header("X-Amz-Storage-Class"),
		Redirect: q.header("X-Amz-Website-Redirect-Location"),
	}
	err := q.metadata(&a)
	if err != nil {
		return a, err
	}
	if a.StorageClass != "" && !slices.Contains(storageClasses, a.StorageClass) {
		return a, awserr.New(http.StatusBadRequest, "InvalidStorageClass", "The storage class you specified is not valid").With("StorageClassRequested", a.StorageClass)
	}
	if err := checkRedirect(a.Redirect); err != nil {
		return a, err
	}
	if a.ACL, err = q.newObjectACL(); err != nil {
		return a, err
	}
	if a.Tags, err = q.tagHeader(); err != nil {
		return a, err
	}
	if a.Lock, err = q.lockHeaders(); err != nil {
		return a, err
	}
	a.Encryption, err = q.encryptionHeaders()
	return a, err
}
