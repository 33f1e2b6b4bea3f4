// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// maxUncommitted is how many blocks may wait to be committed, maxBlockID the length of their decoded IDs.
const (
	maxUncommitted = 100000
	maxBlockID     = 64
)

var errBlockList = azerr.New(http.StatusBadRequest, "InvalidBlockList", "The specified block list is invalid.")

func (c *Call) putBlock(w http.ResponseWriter) error {
	id := c.query.Get("blockid")
	raw, err := base64.StdEncoding.DecodeString(id)
	switch {
	case id == "":
		return azerr.MissingQuery
	case err != nil || len(raw) == 0 || len(raw) > maxBlockID:
		return azerr.InvalidQueryValue
	}
	if err := checkBlobName(c.Target.Blob); err != nil {
		return err
	}
	scoped := store.Blob{Scope: c.r.Header.Get("X-Ms-Encryption-Scope")}
	if err := c.scope(&scoped); err != nil {
		return err
	}
	if err := c.api.Store.View(c.ref(), func(e *store.Entry) error { return c.mayStage(e, id) }); err != nil {
		return err
	}
	body, err := c.receivePart(maxPutBlock)
	if err != nil {
		return err
	}
	if body.size == 0 {
		c.api.Store.Discard(body.id)
		return azerr.InvalidHeaderValue
	}
	err = c.write(body, func(e *store.Change) error {
		if err := c.mayStage(&e.Entry, id); err != nil {
			return err
		}
		e.AddBlock(store.Block{ID: id, Body: body.id, Size: body.size})
		return nil
	})
	if err != nil {
		return err
	}
	c.checked(w, body)
	encrypted(w, scoped.Scope)
	w.WriteHeader(http.StatusCreated)
	return nil
}

func (c *Call) mayStage(e *store.Entry, id string) error {
	if err := cmp.Or(c.mayOverwrite(e), checkType(e.Current, store.BlockBlob), c.guard(e.Lease, true), online(e.Current)); err != nil {
		return err
	}
	waiting, one := e.CountUncommitted()
	if _, again := e.Uncommitted(id); waiting >= maxUncommitted && !again {
		return azerr.New(http.StatusConflict, "BlockCountExceedsLimit", "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.")
	}
	if waiting > 0 && decodedLength(one.ID) != decodedLength(id) {
		return azerr.New(http.StatusBadRequest, "InvalidBlobOrBlock", "The specified blob or block content is invalid.")
	}
	return nil
}

// decodedLength returns the length of a valid block ID before it was encoded, which must be the same for all blocks of a
// blob.
func decodedLength(id string) int {
	raw, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return -1
	}
	return len(raw)
}

// listedBlock is one element of a block list.
type listedBlock struct {
	// Kind is Latest, Committed or Uncommitted.
	Kind, ID string
}

// parseBlockList reads the elements in their order.
func parseBlockList(r io.Reader) ([]listedBlock, error) {
	d := xml.NewDecoder(r)
	var out []listedBlock
	depth, begun := 0, false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && depth == 0 && begun {
			return out, nil
		}
		if err != nil {
			return nil, azerr.InvalidXML
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				if t.Name.Local != "BlockList" || begun {
					return nil, azerr.InvalidXML
				}
				begun = true
				depth++
				continue
			}
			if !slices.Contains([]string{"Latest", "Committed", "Uncommitted"}, t.Name.Local) {
				return nil, azerr.InvalidXML
			}
			var id string
			if err := d.DecodeElement(&id, &t); err != nil {
				return nil, azerr.InvalidXML
			}
			out = append(out, listedBlock{t.Name.Local, strings.TrimSpace(id)})
		case xml.EndElement:
			depth--
		}
	}
}

func (c *Call) putBlockList(w http.ResponseWriter) error {
	text, err := c.readText()
	if err != nil {
		return err
	}
	list, err := parseBlockList(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if len(list) > maxBlocks {
		return azerr.New(http.StatusBadRequest, "BlockListTooLong", "The block list may not contain more than 50,000 blocks.")
	}
	next, err := c.newBlob(store.BlockBlob)
	if err != nil {
		return err
	}
	if err := c.scope(next); err != nil {
		return err
	}
	next.Headers["Content-Type"] = anyContent
	if t := c.r.Header.Get("X-Ms-Blob-Content-Type"); t != "" {
		next.Headers["Content-Type"] = t
	}
	err = c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if err := c.mayReplace(&e.Entry, store.BlockBlob); err != nil {
			return err
		}
		if err := commit(&e.Entry, next, list); err != nil {
			return err
		}
		e.ClearBlocks()
		c.replace(e, next)
		return nil
	})
	if err != nil {
		return err
	}
	c.created(w, next, "")
	return nil
}

// commit puts the listed blocks together.
func commit(e *store.Entry, next *store.Blob, list []listedBlock) error {
	committed := map[string]store.Block{}
	if e.Current != nil {
		for _, b := range e.Current.Blocks {
			committed[b.ID] = b
		}
		delete(committed, "")
	}
	for _, l := range list {
		old, isOld := committed[l.ID]
		fresh, isFresh := e.Uncommitted(l.ID)
		switch {
		case isFresh && l.Kind != "Committed":
			next.Blocks = append(next.Blocks, fresh)
		case isOld && l.Kind != "Uncommitted":
			next.Blocks = append(next.Blocks, old)
		default:
			return errBlockList
		}
		next.Size += next.Blocks[len(next.Blocks)-1].Size
	}
	return nil
}

type blockXML struct {
	Name string
	Size int64
}

func (c *Call) getBlockList(w http.ResponseWriter) error {
	kind := cmp.Or(c.query.Get("blocklisttype"), "committed")
	if !slices.Contains([]string{"committed", "uncommitted", "all"}, kind) {
		return azerr.InvalidQueryValue
	}
	doc := struct {
		XMLName     xml.Name    `xml:"BlockList"`
		Committed   *[]blockXML `xml:"CommittedBlocks>Block"`
		Uncommitted *[]blockXML `xml:"UncommittedBlocks>Block"`
	}{}
	err := c.api.Store.View(c.ref(), func(e *store.Entry) error {
		b, err := c.pick(e)
		if err != nil && !e.HasUncommitted() {
			return err
		}
		if err := cmp.Or(c.fulfilled(stateOf(b), true), online(b), c.guard(e.Lease, false), checkType(b, store.BlockBlob)); err != nil {
			return err
		}
		if b != nil {
			setState(w, b.ETag, b.Modified)
			w.Header().Set("X-Ms-Blob-Content-Length", strconv.FormatInt(b.Size, 10))
		}
		if kind != "uncommitted" {
			doc.Committed = committedXML(b)
		}
		if kind != "committed" {
			doc.Uncommitted = uncommittedXML(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return writeXML(w, http.StatusOK, doc)
}

func committedXML(b *store.Blob) *[]blockXML {
	out := []blockXML{}
	if b != nil {
		for _, block := range b.Blocks {
			if block.ID != "" {
				out = append(out, blockXML{block.ID, block.Size})
			}
		}
	}
	return &out
}

func uncommittedXML(e *store.Entry) *[]blockXML {
	out := []blockXML{}
	for _, block := range e.UncommittedBlocks() {
		out = append(out, blockXML{block.ID, block.Size})
	}
	slices.SortFunc(out, func(a, b blockXML) int { return strings.Compare(a.Name, b.Name) })
	return &out
}
