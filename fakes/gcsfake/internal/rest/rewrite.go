// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// rewriteObject copies an object ("Objects: rewrite"). The last call of a rewrite does all the work; before that,
// tokens only count what a client has requested.
func (c *Call) rewriteObject(w http.ResponseWriter) error {
	unfinished, err := c.unfinishedRewrite()
	if err != nil {
		return err
	}
	if unfinished != nil {
		return respond(w, unfinished)
	}
	o, err := c.copyTo(true)
	if err != nil {
		return err
	}
	b, err := c.api.store.Bucket(o.Bucket)
	if err != nil {
		return err
	}
	size := strconv.FormatInt(o.Size, 10)
	return respond(w, map[string]any{
		"kind": "storage#rewriteResponse", "totalBytesRewritten": size, "objectSize": size, "done": true, "resource": c.show(o, b),
	})
}

// rewriteToken records the progress of a rewrite.
type rewriteToken struct {
	From       string `json:"f"`
	Generation int64  `json:"g"`
	To         string `json:"t"`
	Done       int64  `json:"d"`
}

// rewriteUnit is the unit of maxBytesRewrittenPerCall.
const rewriteUnit = 1 << 20

// rewriteLimit reads maxBytesRewrittenPerCall, 0 for none.
func (c *Call) rewriteLimit() (int64, error) {
	limit, ok, err := c.number("maxBytesRewrittenPerCall")
	if err == nil && ok && (limit < rewriteUnit || limit%rewriteUnit != 0) {
		err = gcserr.Invalid.Say("maxBytesRewrittenPerCall must be a multiple of 1 MiB (%d).", rewriteUnit)
	}
	return limit, err
}

// unfinishedRewrite returns the response to a call that does not complete the rewrite, or nil if the rewrite is
// complete. The limit of a call applies only between locations or storage classes; otherwise nothing has to be
// copied.
func (c *Call) unfinishedRewrite() (map[string]any, error) {
	limit, err := c.rewriteLimit()
	text := c.query.Get("rewriteToken")
	if err != nil || (limit == 0 && text == "") {
		return nil, err
	}
	from, err := c.source()
	if err != nil {
		return nil, err
	}
	to, err := c.bucket()
	if err != nil {
		return nil, err
	}
	if err := c.need("storage.objects.create", to, c.vars["object"]); err != nil {
		return nil, err
	}
	t := rewriteToken{From: from.Bucket + "/" + from.Name, Generation: from.Generation, To: to.Name + "/" + c.vars["object"]}
	if t.Done, err = t.resume(text); err != nil {
		return nil, err
	}
	moves, err := c.movesData(from, to)
	if err != nil || !moves || limit == 0 || limit >= from.Size-t.Done {
		return nil, err
	}
	t.Done += limit
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"kind": "storage#rewriteResponse", "totalBytesRewritten": strconv.FormatInt(t.Done, 10), "objectSize": strconv.FormatInt(from.Size, 10),
		"done": false, "rewriteToken": base64.RawURLEncoding.EncodeToString(raw),
	}, nil
}

// resume reads a token, which must be of this rewrite.
func (t *rewriteToken) resume(text string) (done int64, err error) {
	if text == "" {
		return 0, nil
	}
	var earlier rewriteToken
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &earlier) != nil || earlier.From != t.From || earlier.Generation != t.Generation || earlier.To != t.To || earlier.Done < 0 {
		return 0, gcserr.Invalid.Say("Invalid rewrite token.")
	}
	return earlier.Done, nil
}

// movesData reports whether a rewrite changes the location or storage class. The body can be read again afterwards.
func (c *Call) movesData(from *store.Object, to *store.Bucket) (bool, error) {
	raw, err := readAll(c.r.Body, maxJSON)
	if err != nil {
		return false, err
	}
	r := *c.r
	r.Body = io.NopCloser(bytes.NewReader(raw))
	c.r = &r
	var wanted struct {
		StorageClass string `json:"storageClass"`
	}
	if !isEmpty(raw) {
		if err := parseJSON(raw, &wanted); err != nil {
			return false, err
		}
	}
	source, err := c.api.store.Bucket(from.Bucket)
	if err != nil {
		return false, err
	}
	class := wanted.StorageClass
	if class == "" && from.Bucket != to.Name {
		class = to.Settings.StorageClass
	}
	return !strings.EqualFold(source.Settings.Location, to.Settings.Location) || (class != "" && class != from.StorageClass), nil
}
