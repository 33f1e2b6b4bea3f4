// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"cmp"
	"context"
	"slices"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

const (
	// mostTrees and mostEvents limit what a page shows.
	mostTrees  = 50
	mostEvents = 30
	// KindStore is the kind of the node for a backend.
	KindStore = "Store"
)

// A View is the data of the template.
type View struct {
	Namespace string
	// Problem explains why nothing, or not everything, can be shown.
	Problem string
	// Good, Waiting and Failed count claims and accesses.
	Good, Waiting, Failed int
	Map                   Map
	// More is the number of trees and of descendants of shown trees that are not on the map.
	More   int
	Events []Event
	// Selected is nil if nothing is selected.
	Selected *Selected
}

// Selected is the detailed view of one object.
type Selected struct {
	Node     *Node
	Timeline *Timeline
	// CanList means that the objects in its bucket can be listed.
	CanList bool
	// Objects are the keys of the objects in its bucket, if requested. Problem is the error.
	Objects []string
	Listed  bool
	Problem string
}

// view returns the view of the current state with a selection.
func (p *Page) view(ctx context.Context, selection Selection) View {
	found := p.cluster.read(ctx)
	v := View{Namespace: p.options.Namespace}
	if found.err != nil {
		v.Problem = found.err.Error()
	}
	if found.objects == nil {
		return v
	}
	roots := Build(found.objects)
	addStores(roots, found.objects)
	v.count(roots)
	selected, around := find(roots, selection.without())
	if len(roots) > mostTrees {
		slices.SortStableFunc(roots, func(x, y *Node) int { return cmp.Compare(urgency(x), urgency(y)) })
		v.More = len(roots) - mostTrees
		roots = shownOf(roots, around)
	}
	v.Map = layout(roots, selection.without())
	v.More += v.Map.Hidden
	v.Events = eventsOf(found.events, selected)
	if selected != nil {
		v.Selected = p.selected(ctx, found.objects, selected, around, selection.Objects)
	}
	return v
}

// shownOf returns the first trees, and the tree of the selection.
func shownOf(roots []*Node, around *Node) []*Node {
	shown := roots[:mostTrees]
	if around != nil && !slices.Contains(shown, around) {
		shown = append(slices.Clone(shown[:mostTrees-1]), around)
	}
	return shown
}

// urgency returns the rank of a tree. Problems come first.
func urgency(n *Node) int {
	return slices.Index([]State{Failed, Waiting, Good}, Worst([]*Node{n}))
}

func (v *View) count(roots []*Node) {
	Walk(roots, func(n *Node) {
		if n.Kind != KindClaim && n.Kind != KindAccess || n.Created == nil { // it does not exist
			return
		}
		switch n.State {
		case Good:
			v.Good++
		case Failed:
			v.Failed++
		default:
			v.Waiting++
		}
	})
}

// addStores adds the endpoint in a Bucket's status as a child of its driver.
func addStores(nodes []*Node, objects *Objects) {
	for _, n := range nodes {
		if bucket := objects.Buckets[n.Name]; n.Kind == KindBucket && bucket != nil {
			for _, child := range n.Children {
				if endpoint := endpointOf(bucket); child.Kind == KindDriver && endpoint != "" {
					child.Children = append(child.Children, &Node{Kind: KindStore, Name: endpoint, State: n.State, Status: bucket.Status.BucketID})
				}
			}
		}
		addStores(n.Children, objects)
	}
}

// endpointOf returns the endpoint of the bucket, from the first of its protocols that has one.
func endpointOf(bucket *cosiapi.Bucket) string {
	info := bucket.Status.BucketInfo
	return cmp.Or(info[secretkeys.S3Endpoint], info[secretkeys.AzureStorageAccount], info[secretkeys.GCSProjectID])
}

// find returns the selected node and its tree.
func find(roots []*Node, selection Selection) (selected, root *Node) {
	for _, root := range roots {
		for _, n := range all(root) {
			if selectionFor(n) == selection {
				return n, root
			}
		}
	}
	return nil, nil
}

// all returns a node with its descendants.
func all(n *Node) []*Node {
	nodes := []*Node{n}
	for _, child := range n.Children {
		nodes = append(nodes, all(child)...)
	}
	return nodes
}

// eventsOf returns the latest Events of the selected object, or of all objects.
func eventsOf(events []Event, selected *Node) []Event {
	var shown []Event
	for _, e := range events {
		if (selected == nil || e.Of == selectionFor(selected)) && len(shown) < mostEvents {
			shown = append(shown, e)
		}
	}
	return shown
}

func (p *Page) selected(ctx context.Context, objects *Objects, n, around *Node, list bool) *Selected {
	s := &Selected{Node: n}
	of := map[Selection]bool{}
	for _, part := range all(around) {
		of[selectionFor(part)] = true
	}
	if n != around { // the timeline of a claim covers its whole tree, that of another object only itself
		of = map[Selection]bool{selectionFor(n): true}
	}
	if p.options.Spans != nil {
		s.Timeline = draw(p.options.Spans.bars(of), true)
	}
	if s.Timeline == nil {
		nodes := slices.DeleteFunc(all(around), func(part *Node) bool { return !of[selectionFor(part)] })
		s.Timeline = draw(facts(nodes), false)
	}
	grant := grantOf(objects, n)
	s.CanList = p.options.Probers != nil && grant != nil && n.State == Good
	s.Listed = s.CanList && list
	if !s.Listed {
		return s
	}
	var err error
	if s.Objects, err = p.options.objects(ctx, n, *grant); err != nil {
		s.Problem = err.Error()
	}
	return s
}

// WithObjects returns the URL that also requests the objects.
func (s *Selected) WithObjects() string { return selectionFor(s.Node).WithObjects().Address() }
