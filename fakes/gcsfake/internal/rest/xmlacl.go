// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// xmlAccessList is an access control list of the XML API ("Access control lists", "XML"), in the syntax of Cloud Storage.
type xmlAccessList struct {
	XMLName xml.Name    `xml:"AccessControlList"`
	Owner   *xmlGrantee `xml:",omitempty"`
	Entries []xmlGrant  `xml:"Entries>Entry"`
}

type xmlGrant struct {
	Scope      xmlGrantee
	Permission string
}

type xmlGrantee struct {
	Type         string `xml:"type,attr,omitempty"`
	ID           string `xml:",omitempty"`
	EmailAddress string `xml:",omitempty"`
	Domain       string `xml:",omitempty"`
	Name         string `xml:",omitempty"`
}

var xmlPermissions = map[string]string{"READER": "READ", "WRITER": "WRITE", "OWNER": "FULL_CONTROL"}

// scopeID returns the ID of an entity in the XML API: 64 hexadecimal digits. Google's are opaque, too.
func scopeID(entity string) string {
	sum := sha256.Sum256([]byte(entity))
	return hex.EncodeToString(sum[:])
}

// xmlScope returns an entity as the XML API shows it.
func xmlScope(entity string) xmlGrantee {
	kind, name, _ := strings.Cut(entity, "-")
	switch kind {
	case "allUsers", "allAuthenticatedUsers":
		return xmlGrantee{Type: strings.ToUpper(kind[:1]) + kind[1:]}
	case "user":
		return xmlGrantee{Type: "UserByEmail", EmailAddress: name}
	case "group":
		return xmlGrantee{Type: "GroupByEmail", EmailAddress: name}
	case "domain":
		return xmlGrantee{Type: "GroupByDomain", Domain: name}
	}
	return xmlGrantee{Type: "GroupById", ID: scopeID(entity)}
}

// entityOf is the reverse of xmlScope. A client can only send the IDs of known entities.
func (s xmlGrantee) entityOf(known []string) (string, error) {
	switch s.Type {
	case "AllUsers", "AllAuthenticatedUsers":
		return "a" + s.Type[1:], nil
	case "UserByEmail":
		return "user-" + s.EmailAddress, nil
	case "GroupByEmail":
		return "group-" + s.EmailAddress, nil
	case "GroupByDomain":
		return "domain-" + s.Domain, nil
	case "UserById", "GroupById":
		if i := slices.IndexFunc(known, func(entity string) bool { return scopeID(entity) == s.ID }); i >= 0 {
			return known[i], nil
		}
	}
	return "", gcserr.Invalid.Say("Invalid argument: scope %q of an access control list.", s.Type+" "+cmp.Or(s.ID, s.EmailAddress, s.Domain))
}

func (c *Call) xmlGetACL(l *accessList) (any, error) {
	out := xmlAccessList{Owner: &xmlGrantee{ID: scopeID(c.ownerOf(l))}}
	for _, e := range l.entries {
		out.Entries = append(out.Entries, xmlGrant{xmlScope(e.Entity), xmlPermissions[e.Role]})
	}
	return out, nil
}

// ownerOf returns the owner of the resource with a list.
func (c *Call) ownerOf(l *accessList) string {
	if l.object != nil {
		return c.objectOwner(&l.object.Attributes, l.bucket).Entity
	}
	return "project-owners-" + c.projectNumber(l.bucket.Project)
}

// xmlPutACL replaces a list with the predefined one in the header, or with the document.
func (c *Call) xmlPutACL(w http.ResponseWriter) error {
	var sent xmlAccessList
	if err := c.readXML(&sent); err != nil {
		return err
	}
	name := c.requestedACL()
	if (name == "") == (sent.XMLName.Local == "") {
		return gcserr.Invalid.Say("Send an access control list either in the header x-goog-acl or in the body.")
	}
	_, err := c.changeEntries(func(l *accessList) error {
		lists := predefinedObject
		if l.kind == "bucketAccessControl" {
			lists = predefinedBucket
		}
		var err error
		if name != "" {
			l.entries, err = c.predefined(lists, name, l.bucket)
			return err
		}
		entries, err := c.grants(l, sent.Entries)
		if err == nil {
			l.entries, err = c.checkEntries(l.bucket, entries, l.roles)
		}
		return err
	})
	if err != nil {
		return err
	}
	return respondEmpty(w, http.StatusOK)
}

// grants returns the entries of a document.
func (c *Call) grants(l *accessList, sent []xmlGrant) ([]policy.Entry, error) {
	known := []string{c.ownerOf(l)}
	for _, team := range []string{"owners", "editors", "viewers"} {
		known = append(known, "project-"+team+"-"+c.projectNumber(l.bucket.Project))
	}
	for _, e := range l.entries {
		known = append(known, e.Entity)
	}
	var out []policy.Entry
	for _, g := range sent {
		e := policy.Entry{}
		for role, permission := range xmlPermissions {
			if permission == g.Permission {
				e.Role = role
			}
		}
		var err error
		if e.Entity, err = g.Scope.entityOf(known); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
