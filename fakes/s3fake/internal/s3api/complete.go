// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"cmp"
	"crypto/md5" //nolint:gosec // ETags are MD5 by definition
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/checksum"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// completeBody is CompleteMultipartUpload.
type completeBody struct {
	XMLName xml.Name       `xml:"CompleteMultipartUpload"`
	Part    []completePart `xml:"Part"`
}

type completePart struct {
	Number *int   `xml:"PartNumber"`
	ETag   string `xml:"ETag"`
	checksumElements
}

// checksumElements are the checksums of a part in XML.
type checksumElements struct {
	CRC32     string `xml:"ChecksumCRC32"`
	CRC32C    string `xml:"ChecksumCRC32C"`
	CRC64NVME string `xml:"ChecksumCRC64NVME"`
	SHA1      string `xml:"ChecksumSHA1"`
	SHA256    string `xml:"ChecksumSHA256"`
	SHA512    string `xml:"ChecksumSHA512"`
	MD5       string `xml:"ChecksumMD5"`
	XXH64     string `xml:"ChecksumXXHASH64"`
	XXH3      string `xml:"ChecksumXXHASH3"`
	XXH128    string `xml:"ChecksumXXHASH128"`
}

func (c checksumElements) all() map[checksum.Algorithm]string {
	m := map[checksum.Algorithm]string{
		checksum.CRC32: c.CRC32, checksum.CRC32C: c.CRC32C, checksum.CRC64NVME: c.CRC64NVME, checksum.SHA1: c.SHA1,
		checksum.SHA256: c.SHA256, checksum.SHA512: c.SHA512, checksum.MD5: c.MD5, checksum.XXHash64: c.XXH64, checksum.XXHash3: c.XXH3, checksum.XXHash128: c.XXH128,
	}
	maps.DeleteFunc(m, func(_ checksum.Algorithm, v string) bool { return v == "" })
	return m
}

func (q *request) completeUpload() error {
	guard, err := q.writeConditions()
	if err != nil {
		return err
	}
	if err := q.checkFinalHeaders(); err != nil {
		return err
	}
	raw, err := q.readCompleteBody()
	if err != nil {
		return err
	}
	var body completeBody
	if err := parseXML(raw, &body); err != nil && !is(err, errMissingBody) {
		return err
	}
	v, err := q.complete(guard, body.Part)
	if is(err, store.ErrNoUpload) { // perhaps because the same completion has ended, even during this one
		if done, ok := q.Store.Completed(q.bucket, q.key, q.param("uploadId")); ok && sameParts(done, body.Part) {
			v, err = done, nil
		}
	}
	if err != nil {
		return err
	}
	return q.respondComplete(v)
}

// complete joins the parts to an object and announces it.
func (q *request) complete(guard func(*store.Version) error, parts []completePart) (*store.Version, error) {
	defer q.turn(q.key)()
	overtaken := false
	v, err := q.Store.Complete(q.bucket, q.key, q.param("uploadId"), func(u *store.Upload) (store.Version, error) {
		overtaken = u.Overtaken
		// With additional checksums the key is asked for again (API Reference, CompleteMultipartUpload).
		if err := q.unsealParts(u.Encryption, u.Checksum.Algorithm == ""); err != nil {
			return store.Version{}, err
		}
		if u.Checksum.Algorithm != "" {
			if err := q.decrypt(u.Encryption); err != nil {
				return store.Version{}, err
			}
		}
		return q.assemble(u, parts)
	}, q.putGuard(func(current *store.Version) error {
		if guard == nil {
			return nil
		}
		if err := guard(current); err != nil || !overtaken {
			return err
		}
		return q.overtaken()
	}))
	if err == nil {
		q.announce(notify.CreatedComplete, q.key, v)
	}
	return v, err
}

// overtaken is the error of a conditional completion whose condition holds, but whose key was written or deleted since
// the upload began. Only a new upload helps.
func (q *request) overtaken() error {
	condition := "If-Match"
	if q.header("If-None-Match") != "" {
		condition = "If-None-Match"
	}
	return errConflict.With("Condition", condition).With("Key", q.key)
}

// sameParts reports whether a repeated completion lists the parts that the object was made of. S3 responds to it as to
// the first one.
func sameParts(v *store.Version, listed []completePart) bool {
	return slices.EqualFunc(v.Parts, listed, func(p store.Part, c completePart) bool {
		return c.Number != nil && *c.Number == p.Number && unquote(c.ETag) == p.ETag
	})
}

func (q *request) respondComplete(v *store.Version) error {
	q.madeHeader(v)
	q.showEncryption(v.Encryption)
	q.showExpiration(v)
	d := newDocument("CompleteMultipartUploadResult").text("Location", q.location())
	d.text("Bucket", q.bucket).text("Key", q.key).text("ETag", quote(v.ETag))
	if v.Encryption.Algorithm == "aws:kms" && v.Checksum.Algorithm == string(checksum.CRC64NVME) {
		return q.send(d) // S3 computes this checksum, but does not return it here
	}
	return q.send(d.checksum(v.Checksum).optional("ChecksumType", v.Checksum.Type))
}

// readCompleteBody reads the body; x-amz-checksum-* here is about the object, not about the body.
func (q *request) readCompleteBody() ([]byte, error) {
	plain := *q
	plain.form = map[string]string{"content-md5": ""}
	return plain.readBody()
}

// assemble checks the list of parts against the upload and joins them.
func (q *request) assemble(u *store.Upload, listed []completePart) (store.Version, error) {
	v := store.Version{Attributes: u.Attributes, Bucket: u.Bucket, Key: u.Key}
	etags := md5.New() //nolint:gosec // see the import
	if len(listed) == 0 {
		return v, invalidRequest("You must specify at least one part")
	}
	kind := cmp.Or(u.Checksum.Type, "null")
	if want := strings.ToUpper(q.header("X-Amz-Checksum-Type")); want != "" && want != kind {
		return v, invalidRequest("The upload was created using the " + kind + " checksum mode. The complete request must use the same checksum mode.")
	}
	if err := checkOrder(u, listed); err != nil {
		return v, err
	}
	for i, c := range listed {
		p, err := q.completePart(u, c, i == len(listed)-1)
		if err != nil {
			return v, err
		}
		raw, _ := hex.DecodeString(p.ETag) // the fake's own ETag
		_, _ = etags.Write(raw)            // a hash never fails
		v.Size += p.Size
		v.Segments = append(v.Segments, p.Segments...)
		p.Segments = nil
		v.Parts = append(v.Parts, p)
	}
	v.ETag = hex.EncodeToString(etags.Sum(nil)) + "-" + itoa(len(listed))
	var err error
	if v.Checksum, err = q.joinChecksums(u, v.Parts); err != nil {
		return v, err
	}
	if size := q.header("X-Amz-Mp-Object-Size"); size != "" {
		n, err := strconv.ParseInt(size, 10, 64)
		switch {
		case err != nil:
			return v, invalidRequest("Value for x-amz-mp-object-size header is invalid: '" + size + "'")
		case n < 0:
			return v, invalidRequest("Value for x-amz-mp-object-size header is less than zero: '" + size + "'")
		case n != v.Size:
			return v, invalidRequest("The provided 'x-amz-mp-object-size' header value " + size + " does not match what was computed: " + strconv.FormatInt(v.Size, 10))
		}
	}
	return v, nil
}

// checkOrder checks the list of parts without the stored parts.
func checkOrder(u *store.Upload, listed []completePart) error {
	last := 0
	for _, c := range listed {
		if c.Number == nil || c.ETag == "" {
			return errMalformedXML
		}
		if *c.Number < 1 {
			return invalidArgument("PartNumber", itoa(*c.Number), "PartNumber must be >= 1")
		}
		// The parts of a composite checksum have no gaps (API Reference, CompletedPart).
		if *c.Number <= last || (u.Checksum.Type == composite && *c.Number != last+1) {
			return awserr.New(http.StatusBadRequest, "InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.").With("UploadId", u.ID)
		}
		last = *c.Number
	}
	return nil
}

// completePart returns the stored part for an entry of the list that checkOrder has accepted.
func (q *request) completePart(u *store.Upload, c completePart, final bool) (store.Part, error) {
	p, ok := u.Parts[*c.Number]
	invalid := errInvalidPart.With("UploadId", u.ID).With("PartNumber", itoa(*c.Number)).With("ETag", unquote(c.ETag))
	if !ok || unquote(c.ETag) != p.ETag {
		return p, invalid
	}
	if !final && p.Size < minPart {
		return p, awserr.New(http.StatusBadRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size").
			With("ProposedSize", strconv.FormatInt(p.Size, 10)).With("MinSizeAllowed", itoa(minPart)).With("PartNumber", itoa(p.Number)).With("ETag", p.ETag)
	}
	if err := checkListed(c, u.Checksum, p.Number); err != nil {
		return p, err
	}
	for a, value := range c.all() { // an upload that was created without an algorithm has only the default checksums
		if a != checksum.Algorithm(cmp.Or(u.Checksum.Algorithm, string(checksum.CRC64NVME))) || value != p.Checksum.Value {
			return p, invalid
		}
	}
	return p, nil
}

// checkListed checks the checksum of a part in the list without the stored part.
func checkListed(c completePart, upload store.Checksum, number int) error {
	sums := c.all()
	if len(sums) > 1 {
		return invalidArgument("Checksum", "", "Invalid Base64 or multiple checksums present in request")
	}
	for a, value := range sums {
		if !a.Valid(value) {
			return invalidArgument("Checksum", "", "Invalid Base64 or multiple checksums present in request")
		}
		if upload.Algorithm != "" && string(a) != upload.Algorithm {
			return awserr.New(http.StatusBadRequest, "BadDigest", "The "+strings.ToLower(string(a))+" you specified for part "+itoa(number)+" did not match what we received.")
		}
	}
	if len(sums) == 0 && upload.Type == composite {
		return invalidRequest("The upload was created using a " + strings.ToLower(upload.Algorithm) + " checksum. The complete request must include the checksum for each part. It was missing for part " + itoa(number) + " in the request.")
	}
	return nil
}

// joinChecksums computes the object's checksum from those of its parts and compares it with the client's.
func (q *request) joinChecksums(u *store.Upload, parts []store.Part) (store.Checksum, error) {
	algorithm, kind := checksum.Algorithm(u.Checksum.Algorithm), u.Checksum.Type
	switch {
	case algorithm == "" && u.Encryption.CustomerKey != "":
		return store.Checksum{}, nil
	case algorithm == "":
		algorithm, kind = checksum.CRC64NVME, fullObject
	}
	pieces := make([]checksum.Piece, len(parts))
	for i, p := range parts {
		raw, err := base64.StdEncoding.DecodeString(p.Checksum.Value)
		if err != nil || p.Checksum.Algorithm != string(algorithm) {
			return store.Checksum{}, nil
		}
		pieces[i] = checksum.Piece{Sum: raw, Size: p.Size}
	}
	sum := store.Checksum{Algorithm: string(algorithm), Type: kind}
	if kind == fullObject {
		sum.Value = algorithm.Combine(pieces)
	} else {
		sum.Value = algorithm.Compose(pieces)
	}
	return sum, q.checkFinal(algorithm, sum.Value, u.Checksum.Algorithm != "")
}

// checkFinalHeaders validates the form of the object's checksum in a completion.
func (q *request) checkFinalHeaders() error {
	if kind := strings.ToUpper(q.header("X-Amz-Checksum-Type")); kind != "" && kind != fullObject && kind != composite {
		return invalidRequest("Value for x-amz-checksum-type header is invalid.")
	}
	seen := 0
	for _, a := range checksum.All() {
		v := q.header(a.Header())
		if v == "" {
			continue
		}
		if seen++; seen > 1 {
			return errManyChecksums
		}
		bare, count, composed := strings.Cut(v, "-")
		if _, err := strconv.ParseUint(count, 10, 16); !a.Valid(bare) || (composed && err != nil) {
			return invalidRequest("Value for " + a.Header() + " header is invalid.")
		}
	}
	return nil
}

// checkFinal compares the computed checksum with the client's. If the upload was created without an algorithm, it
// ignores the client's.
func (q *request) checkFinal(algorithm checksum.Algorithm, value string, declared bool) error {
	if !declared {
		return nil
	}
	for _, a := range checksum.All() {
		v := q.header(a.Header())
		if v == "" {
			continue
		}
		bare, _, _ := strings.Cut(v, "-")
		computed, _, _ := strings.Cut(value, "-")
		composed := strings.Contains(value, "-")
		if a != algorithm || bare != computed || (!composed && q.header("X-Amz-Checksum-Type") == "") { // COMPOSITE is the default
			return awserr.New(http.StatusBadRequest, "BadDigest", "The "+strings.ToLower(string(algorithm))+" you specified did not match the calculated checksum.")
		}
	}
	return nil
}
