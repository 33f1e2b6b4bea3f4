// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"encoding/xml"
	"errors"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

type foundXML struct {
	Name      nameXML
	Container string   `xml:"ContainerName"`
	Tags      []tagXML `xml:"Tags>TagSet>Tag"`
}

type findingsXML struct {
	XMLName    xml.Name   `xml:"EnumerationResults"`
	Endpoint   string     `xml:"ServiceEndpoint,attr"`
	Where      string     `xml:"Where"`
	Blobs      []foundXML `xml:"Blobs>Blob"`
	NextMarker string
}

// findBlobs is Find Blobs by Tags, of an account or of a container.
func (c *Call) findBlobs(w http.ResponseWriter) error {
	where := c.query.Get("where")
	if where == "" {
		return azerr.MissingQuery
	}
	wanted, err := parseSearch(where)
	if err != nil {
		return err
	}
	l, err := c.readListing()
	if err != nil {
		return err
	}
	in, err := c.searched(wanted)
	if err != nil {
		return err
	}
	doc := findingsXML{Endpoint: c.endpoint(), Where: where, Blobs: []foundXML{}}
	for _, container := range in {
		if container < l.from {
			continue
		}
		if err := c.findIn(container, wanted, l, &doc); err != nil {
			return err
		}
		if doc.NextMarker != "" {
			break
		}
	}
	return writeXML(w, http.StatusOK, doc)
}

// searched are the containers to search, in order.
func (c *Call) searched(wanted search) ([]string, error) {
	if c.Target.Container != "" {
		if _, err := c.Target.Stored(); err != nil || wanted.container != "" && wanted.container != c.Target.Container {
			return nil, err
		}
		return []string{c.Target.Container}, nil
	}
	var out []string
	for _, one := range c.api.Store.Containers(c.Target.Account) {
		if wanted.container == "" || one.Name == wanted.container {
			out = append(out, one.Name)
		}
	}
	return out, nil
}

// findIn adds the matches in a container to the page. Its marker is the next container and name.
func (c *Call) findIn(container string, wanted search, l listing, doc *findingsXML) error {
	from := ""
	if container == l.from {
		from = l.state
	}
	err := c.api.Store.Walk(c.Target.Account, container, "", from, func(e *store.Entry) bool {
		if e.Current == nil {
			return true
		}
		tags := wanted.find(e.Current.Tags)
		if tags == nil {
			return true
		}
		if len(doc.Blobs) == l.max {
			doc.NextMarker = marker(container + "\x00" + e.Name)
			return false
		}
		doc.Blobs = append(doc.Blobs, foundXML{nameXML(e.Name), container, tagsOf(tags)})
		return true
	})
	if errors.Is(err, azerr.ContainerNotFound) && c.Target.Container == "" {
		return nil // deleted since
	}
	return err
}
