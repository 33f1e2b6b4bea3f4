// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"net/url"
	"strings"
)

// A Selection names the object that the page shows more of; the zero value is none.
type Selection struct {
	Kind, Namespace, Name string
	// Objects asks for the objects of the bucket, which are read only then.
	Objects bool
}

func selectionFor(n *Node) Selection {
	return Selection{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
}

// selectionOf reads what an address selects.
func selectionOf(query url.Values) Selection {
	kind, rest, _ := strings.Cut(query.Get("select"), "/")
	namespace, name, _ := strings.Cut(rest, "/")
	return Selection{Kind: kind, Namespace: namespace, Name: name, Objects: query.Has("objects")}
}

// Address is that of the page with this selection.
func (s Selection) Address() string {
	if s.Name == "" {
		return "/"
	}
	query := url.Values{"select": {s.ID()}}
	if s.Objects {
		query.Set("objects", "")
	}
	return "/?" + query.Encode()
}

// ID names the object in an address and in the page.
func (s Selection) ID() string { return s.Kind + "/" + s.Namespace + "/" + s.Name }

// WithObjects is the same with the objects of its bucket.
func (s Selection) WithObjects() Selection {
	s.Objects = true
	return s
}

// without is the object alone.
func (s Selection) without() Selection {
	s.Objects = false
	return s
}
