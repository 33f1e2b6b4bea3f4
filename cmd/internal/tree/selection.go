// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"net/url"
	"strings"
)

// A Selection is the object that the page shows in detail. The zero value selects none.
type Selection struct {
	Kind, Namespace, Name string
	// Objects requests the list of objects in the bucket.
	Objects bool
}

func selectionFor(n *Node) Selection {
	return Selection{Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
}

// selectionOf parses the selection in a URL query.
func selectionOf(query url.Values) Selection {
	kind, rest, _ := strings.Cut(query.Get("select"), "/")
	namespace, name, _ := strings.Cut(rest, "/")
	return Selection{Kind: kind, Namespace: namespace, Name: name, Objects: query.Has("objects")}
}

// Address returns the URL of the page with this selection.
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

// ID identifies the object in URLs and in the page.
func (s Selection) ID() string { return s.Kind + "/" + s.Namespace + "/" + s.Name }

// WithObjects returns the selection with the list of objects.
func (s Selection) WithObjects() Selection {
	s.Objects = true
	return s
}

// without returns the selection without the list of objects.
func (s Selection) without() Selection {
	s.Objects = false
	return s
}
