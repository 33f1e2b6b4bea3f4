// SPDX-License-Identifier: Apache-2.0

// Package sample applies manifests to a cluster and waits until the claims and accesses in them are
// provisioned.
package sample

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

// fieldOwner is the field manager of Apply.
const fieldOwner = client.FieldOwner("cooper")

// pollInterval is the poll interval of Wait.
const pollInterval = 100 * time.Millisecond

// A Document is one object of a manifest.
type Document struct {
	// Source is the file and document number, for messages.
	Source string
	Object *unstructured.Unstructured
}

// Read reads all documents of the YAML files in the root of files, sorted by file name. It returns an error
// with the file and document number if a document is not a Kubernetes object.
func Read(files fs.FS) ([]Document, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the manifests: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("manifests: no .yaml files found: pass a .yaml file, or a directory with .yaml files")
	}
	slices.Sort(names)
	var documents []Document
	for _, name := range names {
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the manifests: %w", err)
		}
		read, err := parse(name, content)
		if err != nil {
			return nil, err
		}
		documents = append(documents, read...)
	}
	return documents, nil
}

func parse(name string, content []byte) ([]Document, error) {
	var documents []Document
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		source := fmt.Sprintf("%s, document %d", name, number)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", source, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(raw, &object.Object); err != nil {
			return nil, fmt.Errorf("%s is not valid YAML: %w", source, err)
		}
		if len(object.Object) == 0 {
			continue // contains only comments
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("%s is not a Kubernetes object: apiVersion, kind and metadata.name are required", source)
		}
		documents = append(documents, Document{Source: source, Object: object})
	}
}

// Apply creates the namespace and applies the documents in order. Objects without a namespace are created in
// the given one. An error names the document and includes the API server's message; documents that were
// already applied remain. Apply retries until ctx ends while the API server is overloaded.
func Apply(ctx context.Context, c client.Client, namespace string, documents []Document) error {
	err := Answered(ctx, func() error {
		return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", namespace, err)
	}
	for _, d := range documents {
		object := d.Object.DeepCopy()
		var mapping *meta.RESTMapping
		err := Answered(ctx, func() (err error) {
			mapping, err = c.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
			return err //nolint:wrapcheck // wrapped below
		})
		if err != nil {
			return fmt.Errorf("%s: find the resource of %s %s: %w", d.Source, object.GetKind(), object.GetName(), err)
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		if err := remember(object); err != nil {
			return fmt.Errorf("%s: %w", d.Source, err)
		}
		err = Answered(ctx, func() error {
			return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		})
		if err != nil {
			return fmt.Errorf("%s: apply %s %s: %w", d.Source, object.GetKind(), object.GetName(), err)
		}
		d.Object.SetNamespace(object.GetNamespace())
	}
	return nil
}

// Answered repeats an idempotent call until the API server answers or ctx ends. If ctx ends, it returns the
// last error together with the cause.
func Answered(ctx context.Context, call func() error) error {
	var err error
	_ = wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		err = call()
		return !busy(err), nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return err
}

// busy reports whether a call failed because the API server timed out, broke the connection, or reported that
// it or etcd is starting or overloaded. A refused connection does not count.
func busy(err error) bool {
	return utilnet.IsTimeout(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsInternalError(err)
}

// remember writes the annotation that kubectl apply writes. Users can then apply the same manifest with
// kubectl without a warning, and can remove fields.
func remember(object *unstructured.Unstructured) error {
	applied, annotations := object.DeepCopy(), object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	// kubectl writes the annotations field even if it is empty.
	if err := unstructured.SetNestedStringMap(applied.Object, annotations, "metadata", "annotations"); err != nil {
		return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	text, err := applied.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(text)
	object.SetAnnotations(annotations)
	return nil
}

// Wait waits until each BucketClaim and BucketAccess in the applied documents is provisioned. It calls report
// with one line whenever the pending objects change. If an object cannot be provisioned or ctx ends, the
// error names the object and the reason.
func Wait(ctx context.Context, c client.Client, documents []Document, report func(string)) error {
	for _, d := range documents {
		kind := d.Object.GetKind()
		if d.Object.GroupVersionKind().Group != cosiapi.GroupName || kind != "BucketClaim" && kind != "BucketAccess" {
			continue
		}
		if err := waitFor(ctx, c, d.Object, report); err != nil {
			return err
		}
	}
	return nil
}

func waitFor(ctx context.Context, c client.Client, want *unstructured.Unstructured, report func(string)) error {
	name := fmt.Sprintf("%s %s/%s", want.GetKind(), want.GetNamespace(), want.GetName())
	said, failure := "", error(nil)
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var list []metav1.Condition
		err := Answered(ctx, func() (err error) {
			list, err = conditionsOf(ctx, c, want)
			return err
		})
		if err != nil {
			return false, err
		}
		if meta.IsStatusConditionTrue(list, cosiapi.ConditionProvisioned) {
			return true, nil
		}
		text := conditions.Explain(list)
		if failed := meta.FindStatusCondition(list, cosiapi.ConditionProvisioned); failed != nil && failed.Status == metav1.ConditionFalse {
			failure = fmt.Errorf("%s cannot be provisioned: %s", name, text)
			return false, failure
		}
		if text != said {
			report(name + ": " + text)
			said = text
		}
		return false, nil
	})
	if err == nil || failure != nil {
		return failure
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if said == "" {
		return fmt.Errorf("wait for %s: %w", name, err)
	}
	return fmt.Errorf("%s is still not provisioned: %s (%w)", name, said, err)
}

func conditionsOf(ctx context.Context, c client.Client, want *unstructured.Unstructured) ([]metav1.Condition, error) {
	key := client.ObjectKeyFromObject(want)
	if want.GetKind() == "BucketClaim" {
		claim := &cosiapi.BucketClaim{}
		if err := c.Get(ctx, key, claim); err != nil {
			return nil, fmt.Errorf("read BucketClaim %s: %w", key, err)
		}
		return claim.Status.Conditions, nil
	}
	access := &cosiapi.BucketAccess{}
	if err := c.Get(ctx, key, access); err != nil {
		return nil, fmt.Errorf("read BucketAccess %s: %w", key, err)
	}
	return access.Status.Conditions, nil
}
