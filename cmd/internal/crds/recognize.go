// SPDX-License-Identifier: Apache-2.0

// Package crds determines the origin of a cluster's CRDs of objectstorage.k8s.io, and the data that would be
// lost if Cooper's CRDs replaced them. Commands that install Cooper call it before their first write. The
// package only reads.
package crds

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// A Generation is the origin of a CRD, worded for the middle of a sentence.
type Generation string

// The known origins.
const (
	// Cooper is any version of Cooper.
	Cooper Generation = "Cooper's"
	// Upstream is v1alpha2 as defined by the upstream project.
	Upstream Generation = "the upstream project's v1alpha2"
	// V1alpha1 is the v1alpha1 that the upstream project released.
	V1alpha1 Generation = "v1alpha1"
	// Unknown is any other origin.
	Unknown Generation = "of an unknown origin"
)

// approval is the API approval annotation, which is required on CRDs of Kubernetes' API groups.
const approval = apiextensionsv1.KubeAPIApprovedAnnotation

// Its values in known implementations.
const (
	ourApproval       = "implementation of KEP-1979 outside the Kubernetes project"
	upstreamApproval  = "experimental v1alpha2 changes"
	upstreamsProposal = "github.com/kubernetes/enhancements/"
)

// Fields that distinguish the definitions of v1alpha2 if the annotation does not.
var (
	ourFields      = []string{"status.conditions", "spec.multiBucketAccess"}
	upstreamFields = []string{"status.readyToUse", "spec.featureOptions"}
)

// Of identifies a CRD of objectstorage.k8s.io. It first looks for distinctive fields, whose values a
// replacement would lose, and then for the annotation.
func Of(crd *apiextensionsv1.CustomResourceDefinition) Generation {
	said := crd.Annotations[approval]
	has := func(path string) bool { return fields(crd)[path] }
	switch {
	case versionOf(crd, cosiapi.Version) == nil && versionOf(crd, "v1alpha1") != nil:
		return V1alpha1
	case versionOf(crd, cosiapi.Version) == nil && strings.Contains(said, ourApproval):
		return Cooper // a release that has dropped this version
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

// versionOf returns a version of a CRD, or nil if the CRD does not have it.
func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

// fields returns the paths of all fields in v1alpha2 or, if the CRD lacks it, in the storage version.
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

// only returns the sorted fields that are in first and not in second. If a field is missing with all its
// children, only the field is listed.
func only(first, second map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(first)), func(path string) bool {
		parent := ""
		if end := strings.LastIndexByte(path, '.'); end >= 0 {
			parent = path[:end]
		}
		return second[path] || parent != "" && !second[parent]
	})
}
