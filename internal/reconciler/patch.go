// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// itemKeys returns, for each list of objects that may be written, the field that identifies an item, like
// x-kubernetes-list-map-keys in the CRDs. Lists of strings need none.
func itemKeys() map[string]string {
	return map[string]string{"conditions": "type", "accessedBuckets": "bucketClaimName", "ownerReferences": "uid"}
}

// An operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// A patch is the change from one state of an object to another, as operations on the stored object. The stored object
// may have fields that its Go type lacks. No operation touches such a field.
type patch struct {
	// stored reports that the stored form of the object is known. Otherwise the API server must confirm it where it
	// matters.
	stored     bool
	operations []operation
	err        error
}

// newPatch returns the change from before to after. stored is the object as stored by the API server, in the same
// version as before, or nil if it is unknown.
func newPatch(stored, before, after any) (*patch, error) {
	before, after = different(before, after)
	was, err := convert(before)
	if err != nil {
		return nil, err
	}
	is, err := convert(after)
	if err != nil {
		return nil, err
	}
	p, base := &patch{}, was
	if stored != nil {
		p.stored = true
		if base, err = convert(stored); err != nil {
			return nil, err
		}
	}
	p.object("", base, was, is)
	return p, p.err
}

// different returns copies of two objects without the parts that are equal, such as the status or everything except
// the status. This saves most of the cost, which is in the conversion.
func different(before, after any) (was, is any) {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	if a.Kind() != reflect.Pointer || a.Type() != b.Type() || a.Elem().Kind() != reflect.Struct {
		return before, after
	}
	x, y := reflect.New(a.Type().Elem()), reflect.New(b.Type().Elem())
	for i := range a.Elem().NumField() {
		had, has := a.Elem().Field(i), b.Elem().Field(i)
		if !reflect.DeepEqual(had.Interface(), has.Interface()) {
			x.Elem().Field(i).Set(had)
			y.Elem().Field(i).Set(has)
		}
	}
	return x.Interface(), y.Interface()
}

// convert returns the JSON form of an object.
func convert(object any) (map[string]any, error) {
	form, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert %T: %w", object, err)
	}
	return form, nil
}

// object adds the change of the object at a path. A null member counts as absent.
func (p *patch) object(path string, stored, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		p.member(path, name, stored[name], before[name], after[name])
	}
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	maps.Copy(all, b)
	return all
}

func (p *patch) member(parent, name string, stored, before, after any) {
	path := parent + "/" + escape(name)
	has, hasObject := stored.(map[string]any)
	was, wasObject := before.(map[string]any)
	is, isObject := after.(map[string]any)
	items, wasList := before.([]any)
	wanted, isList := after.([]any)
	switch {
	case reflect.DeepEqual(before, after):
	case hasObject && (wasObject || before == nil) && (isObject || after == nil):
		// Member by member, also if the known ones are all new or all gone:
		// there may be others.
		p.object(path, has, was, is)
	case wasList && isList:
		list, _ := stored.([]any)
		p.list(path, itemKeys()[name], list, items, wanted)
	case after == nil && stored != nil:
		p.add(operation{Op: "remove", Path: path})
	case after == nil:
	default:
		if isObject && before == nil && !p.stored {
			p.add(operation{Op: "test", Path: path, Value: json.RawMessage("null")})
		}
		p.put(path, after)
	}
}

// An item is one item of a list, in its stored form and as decoded.
type item struct{ stored, known any }

// list adds the change of a list. Items with the same key before and after are the same item and keep their unknown
// fields.
func (p *patch) list(path, key string, stored, before, after []any) {
	now := make([]item, len(before))
	for i := range before {
		now[i] = item{known: before[i]}
		if i < len(stored) {
			now[i].stored = stored[i]
		}
	}
	wanted := map[string]int{}
	for _, value := range after {
		wanted[p.identity(path, key, value)]++
	}
	for i, have := range slices.Backward(now) {
		id := p.identity(path, key, have.known)
		if wanted[id]--; wanted[id] < 0 {
			p.add(operation{Op: "remove", Path: index(path, i)})
			now = slices.Delete(now, i, i+1)
		}
	}
	for i, value := range after {
		id := p.identity(path, key, value)
		at := i + slices.IndexFunc(now[i:], func(have item) bool { return p.identity(path, key, have.known) == id })
		if at < i {
			p.put(index(path, i), value)
			now = slices.Insert(now, i, item{known: value})
			continue
		}
		have := now[at]
		if at > i {
			p.add(operation{Op: "move", From: index(path, at), Path: index(path, i)})
			now = slices.Insert(slices.Delete(now, at, at+1), i, have)
		}
		was, _ := have.known.(map[string]any)
		is, _ := value.(map[string]any)
		base, _ := have.stored.(map[string]any)
		p.object(index(path, i), base, was, is)
	}
}

// identity returns the key that identifies an item of a list.
func (p *patch) identity(path, key string, value any) string {
	members, isObject := value.(map[string]any)
	if !isObject {
		return fmt.Sprint(value)
	}
	if key == "" {
		p.err = fmt.Errorf("the items of %s have no unique key, so they cannot be patched", path)
	}
	return fmt.Sprint(members[key])
}

// put sets a value, whether or not the path exists.
func (p *patch) put(path string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		p.err = fmt.Errorf("encode the value of %s: %w", path, err)
	}
	p.add(operation{Op: "add", Path: path, Value: text})
}

func (p *patch) add(o operation) { p.operations = append(p.operations, o) }

// guarded returns the patch for the API server. The API server rejects it as a conflict if the object has a version
// other than the given one.
func (p *patch) guarded(version string) ([]byte, error) {
	guard, err := json.Marshal(version)
	if err != nil {
		return nil, fmt.Errorf("encode the resourceVersion: %w", err)
	}
	all := append([]operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: guard}}, p.operations...)
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode a patch: %w", err)
	}
	return text, nil
}

func index(path string, i int) string { return path + "/" + strconv.Itoa(i) }

// escape escapes the name of a member for use in a path (RFC 6901).
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
