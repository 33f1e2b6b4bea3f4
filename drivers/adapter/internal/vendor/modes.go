// SPDX-License-Identifier: Apache-2.0

package vendor

import (
	"maps"
	"slices"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// ModesParameter is a parameter of a BucketAccessClass that declares the access modes of the grants of a v1alpha1
// driver, such as "objectData=ReadWrite,objectMetadata=ReadWrite". v1alpha1 requests have no access modes. The
// parameter is not passed to the driver.
const ModesParameter = "cooper.dev/access-modes"

// A category is one of the three kinds of access to a bucket.
type category struct {
	name       string
	asked      cosi.AccessMode_Mode
	disallowed []cosi.AccessMode_Mode
}

// isAsked reports whether the user requests access in this category.
func (c category) isAsked() bool {
	return c.asked != cosi.AccessMode_UNKNOWN && c.asked != cosi.AccessMode_ANY
}

// categories returns the categories of one bucket of a grant, with the field names of a BucketAccess.
func categories(bucket *cosi.AccessedBucket, not *cosi.DisallowedAccessModes) []category {
	return []category{
		{"objectData", bucket.GetObjectDataAccessMode().GetMode(), not.GetObjectData()},
		{"objectMetadata", bucket.GetObjectMetadataAccessMode().GetMode(), not.GetObjectMetadata()},
		{"bucketMetadata", bucket.GetBucketMetadataAccessMode().GetMode(), not.GetBucketMetadata()},
	}
}

// modeNames are the names of the modes in the Kubernetes API.
var modeNames = map[cosi.AccessMode_Mode]string{
	cosi.AccessMode_READ_WRITE: "ReadWrite", cosi.AccessMode_READ_ONLY: "ReadOnly", cosi.AccessMode_WRITE_ONLY: "WriteOnly",
}

// modeNamed returns the mode with a name, or UNKNOWN.
func modeNamed(name string) cosi.AccessMode_Mode {
	for _, mode := range slices.Sorted(maps.Keys(modeNames)) {
		if modeNames[mode] == name {
			return mode
		}
	}
	return cosi.AccessMode_UNKNOWN
}

// checkDeclared refuses a grant unless the driver grants exactly the requested modes with this class, and none that
// the class disallows.
func checkDeclared(asked *cosi.DriverGrantBucketAccessRequest) error {
	declared := asked.GetParameters()[ModesParameter]
	given, err := givenModes(declared)
	if err != nil {
		return err
	}
	for _, c := range categories(asked.GetBuckets()[0], asked.GetDisallowedAccessModes()) {
		mode, gives := given[c.name]
		switch {
		case c.isAsked() && mode != c.asked:
			return refuse("the driver grants %s with this BucketAccessClass, not %s=%s; %s does not support requests for access modes. "+
				"Request the modes that the driver grants, or use another class", declared, c.name, modeNames[c.asked], nameV1alpha1)
		case gives && slices.Contains(c.disallowed, mode):
			return refuse("the driver grants %s=%s with this BucketAccessClass, which disallows it; use another class", c.name, modeNames[mode])
		}
	}
	return nil
}

// givenModes parses ModesParameter.
func givenModes(text string) (map[string]cosi.AccessMode_Mode, error) {
	if text == "" {
		return nil, refuse("%s does not support access modes, so the driver cannot enforce those of the BucketAccess. An administrator "+
			"must set the parameter %s of the BucketAccessClass to the modes that the driver grants, such as objectData=ReadWrite", nameV1alpha1, ModesParameter)
	}
	given := map[string]cosi.AccessMode_Mode{}
	for entry := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		mode := modeNamed(value)
		known := slices.ContainsFunc(categories(nil, nil), func(c category) bool { return c.name == name })
		if _, repeated := given[name]; !known || repeated || mode == cosi.AccessMode_UNKNOWN {
			return nil, refuse("the parameter %s of the BucketAccessClass is %q; it must list the categories (objectData, objectMetadata, bucketMetadata) "+
				"that the driver grants, each with a mode (ReadWrite, ReadOnly, WriteOnly), such as objectData=ReadWrite,objectMetadata=ReadOnly",
				ModesParameter, text)
		}
		given[name] = mode
	}
	return given, nil
}

// withoutOurs returns the parameters of a class without the one for the adapter.
func withoutOurs(parameters map[string]string) map[string]string {
	rest := maps.Clone(parameters)
	delete(rest, ModesParameter)
	return rest
}

// wholeMode returns the single mode for a whole bucket. It must be the same in all requested categories and must not
// be disallowed in any.
func wholeMode(bucket *cosi.AccessedBucket, not *cosi.DisallowedAccessModes) (cosi.AccessMode_Mode, error) {
	all := categories(bucket, not)
	first := slices.IndexFunc(all, category.isAsked)
	if first < 0 {
		return cosi.AccessMode_UNKNOWN, refuse("%s needs an access mode for each bucket, but none is requested; request objectData", nameUpstream)
	}
	mode := all[first].asked
	for _, c := range all {
		switch {
		case c.isAsked() && c.asked != mode:
			return cosi.AccessMode_UNKNOWN, refuse("%s supports only one access mode per bucket, but %s=%s and %s=%s differ; request the same mode in both",
				nameUpstream, all[first].name, modeNames[mode], c.name, modeNames[c.asked])
		case slices.Contains(c.disallowed, mode):
			return cosi.AccessMode_UNKNOWN, refuse("%s supports only one access mode per bucket, but the BucketAccessClass disallows %s=%s; "+
				"request another mode", nameUpstream, c.name, modeNames[mode])
		}
	}
	return mode, nil
}
