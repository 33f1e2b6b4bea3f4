// SPDX-License-Identifier: Apache-2.0

// Package crds tells whose CustomResourceDefinitions of objectstorage.k8s.io a
// cluster has, and what would be lost if Cooper's took their place. It only
// reads; whoever installs asks it before the first write.
package crds

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A Generation is whose CRD it is, as the middle of a sentence.
type Generation string

// The generations.
const (
	// Cooper is ours, of this version or another.
	Cooper Generation = "Cooper's"
	// Upstream is v1alpha2 as the upstream project means it.
	Upstream Generation = "the upstream project's v1alpha2"
	// V1alpha1 is the v1alpha1 that the upstream project released.
	V1alpha1 Generation = "v1alpha1"
	// Unknown is somebody else's.
	Unknown Generation = "of an unknown origin"
)

// approval is the annotation in which a CRD of a group of Kubernetes says who
// agreed to it. Everybody who makes one has to set it.
const approval = apiextensionsv1.KubeAPIApprovedAnnotation

// What implementations say in it.
const (
	ourApproval       = "implementation of KEP-1979 outside the Kubernetes project"
	upstreamApproval  = "experimental v1alpha2 changes"
	upstreamsProposal = "github.com/kubernetes/enhancements/"
)

// Fields by which v1alpha2 can be told where the annotation does not help.
var (
	ourFields      = []string{"status.conditions", "spec.multiBucketAccess"}
	upstreamFields = []string{"status.readyToUse", "spec.featureOptions"}
)

// Of recognizes a CRD of objectstorage.k8s.io: by the fields that objects would lose, then by what it says of itself.
func Of(crd *apiextensionsv1.CustomResourceDefinition) Generation {
	said := crd.Annotations[approval]
	has := func(path string) bool { return fields(crd)[path] }
	switch {
	case versionOf(crd, cosiapi.Version) == nil && versionOf(crd, "v1alpha1") != nil:
		return V1alpha1
	case versionOf(crd, cosiapi.Version) == nil && strings.Contains(said, ourApproval):
		return Cooper // of a release that has dropped our version
	case versionOf(crd, cosiapi.Version) == nil:
		return Unknown
	case slices.ContainsFunc(upstreamFields, has):
		return Upstream
	case strings.Contains(said, ourApproval), said == "" && slices.ContainsFunc(ourFields, has):
		return Cooper
	case strings.Contains(said, upstreamApproval), strings.Contains(said, upstreamsProposal):
		return Upstream
	default:
		return Unknown
	}
}

// versionOf returns a version of a CRD, nil if it has none of the name.
func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// fields returns the paths of all fields of v1alpha2 or, without it, of the version that is stored.
func fields(crd *apiextensionsv1.CustomResourceDefinition) map[string]bool {
	version := versionOf(crd, cosiapi.Version)
	for i := range crd.Spec.Versions {
		if version == nil && crd.Spec.Versions[i].Storage {
			version = &crd.Spec.Versions[i]
		}
	}
	paths := map[string]bool{}
	if version == nil || version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return paths
	}
	for name, form := range version.Schema.OpenAPIV3Schema.Properties {
		if name != "apiVersion" && name != "kind" && name != "metadata" {
			collect(paths, name, form)
		}
	}
	return paths
}

func collect(paths map[string]bool, path string, form apiextensionsv1.JSONSchemaProps) {
	paths[path] = true
	for form.Items != nil && form.Items.Schema != nil {
		form = *form.Items.Schema
	}
	for name, property := range form.Properties {
		collect(paths, path+"."+name, property)
	}
}

// only returns the fields that the first has and the second has not, in order. Of a field with all below it, only
// the uppermost is named.
func only(first, second map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(first)), func(path string) bool {
		parent := ""
		if end := strings.LastIndexByte(path, '.'); end >= 0 {
			parent = path[:end]
		}
		return second[path] || parent != "" && !second[parent]
	})
}
