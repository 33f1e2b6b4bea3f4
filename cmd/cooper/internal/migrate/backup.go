// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// oldVersion is the API version to migrate from.
const oldVersion = "v1alpha1"

// oldKinds maps resources of v1alpha1 to their kinds. v1alpha2 uses the same names.
var oldKinds = map[string]string{
	"buckets": "Bucket", "bucketclaims": "BucketClaim", "bucketaccesses": "BucketAccess",
	"bucketclasses": "BucketClass", "bucketaccessclasses": "BucketAccessClass",
}

// An old is an object of v1alpha1.
type old struct {
	unstructured.Unstructured
	fields
}

// fields are the fields of v1alpha1 that a migration needs. No two kinds use the same field name with
// different meanings, so one type covers all kinds.
type fields struct {
	// DriverName and AuthenticationType belong to classes, which have no spec.
	DriverName         string `json:"driverName"`
	AuthenticationType string `json:"authenticationType"`

	Spec struct {
		// of a Bucket
		DriverName  string                  `json:"driverName"`
		BucketClaim *corev1.ObjectReference `json:"bucketClaim"`
		Parameters  map[string]string       `json:"parameters"`
		Policy      string                  `json:"deletionPolicy"`
		// of a claim
		Protocols []string `json:"protocols"`
		// of an access
		BucketClaimName string `json:"bucketClaimName"`
		Protocol        string `json:"protocol"`
		ClassName       string `json:"bucketAccessClassName"`
		SecretName      string `json:"credentialsSecretName"`
		ServiceAccount  string `json:"serviceAccountName"`
	} `json:"spec"`

	Status struct {
		BucketID   string `json:"bucketID"`   // of a Bucket
		BucketName string `json:"bucketName"` // of a claim
		AccountID  string `json:"accountID"`  // of an access
	} `json:"status"`
}

// key returns "namespace/name", or the name of a cluster-scoped object.
func (o *old) key() string { return key(o.GetNamespace(), o.GetName()) }

func key(namespace, name string) string { return strings.TrimPrefix(namespace+"/"+name, "/") }

// essence returns the parts of an object that must be the same in the backup and in the cluster: its UID,
// spec and status, and whether it is terminating.
func (o *old) essence() string {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	delete(spec, "deletionPolicy") // may change during the migration
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	text, _ := json.Marshal([]any{o.GetUID(), spec, status, o.GetDeletionTimestamp() != nil}) //nolint:errchkjson // decoded from JSON, so it can be encoded
	return string(text)
}

// olds are objects of v1alpha1 by kind, sorted by key.
type olds map[string][]*old

func (all olds) add(object map[string]any) error {
	one := &old{Unstructured: unstructured.Unstructured{Object: object}}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &one.fields); err != nil {
		return fmt.Errorf("%s %s is not a valid v1alpha1 object: %w", one.GetKind(), one.key(), err)
	}
	kind := one.GetKind()
	at, _ := all.find(kind, one.key())
	all[kind] = slices.Insert(all[kind], at, one)
	return nil
}

// find returns the index of a key among the objects of a kind, and whether it exists.
func (all olds) find(kind, key string) (at int, found bool) {
	return slices.BinarySearchFunc(all[kind], key, func(one *old, key string) int { return cmp.Compare(one.key(), key) })
}

// get returns an object, or nil if it does not exist.
func (all olds) get(kind, key string) *old {
	if at, found := all.find(kind, key); found {
		return all[kind][at]
	}
	return nil
}

// readBackup reads the objects of v1alpha1 from a file. It ignores other objects.
func readBackup(path string) (olds, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--backup: %w", err)
	}
	all := olds{}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		object := map[string]any{}
		if err == nil {
			err = yaml.Unmarshal(document, &object)
		}
		if err == nil {
			err = all.addEach(object)
		}
		if err != nil {
			return nil, fmt.Errorf("--backup %s: %w", path, err)
		}
	}
	if len(all["Bucket"]) == 0 {
		return nil, fmt.Errorf("--backup %s contains no v1alpha1 Bucket: it is from another cluster, or from after the CRDs were deleted", path)
	}
	return all, nil
}

// addEach adds an object, or each item of a list.
func (all olds) addEach(object map[string]any) error {
	items, isList := object["items"].([]any)
	for _, item := range items {
		one, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("a list item is a %T, not an object", item)
		}
		if err := all.addEach(one); err != nil {
			return err
		}
	}
	switch {
	case isList:
		return nil
	case object["apiVersion"] == cosiapi.GroupName+"/"+oldVersion:
		return all.add(object)
	case object["apiVersion"] == cosiapi.GroupVersion().String():
		return errors.New("the backup contains v1alpha2 objects: use a backup from before the deletion of the v1alpha1 CRDs")
	default:
		return nil
	}
}
