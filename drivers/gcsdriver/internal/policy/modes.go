// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Google's predefined roles ("IAM roles for Cloud Storage").
const (
	objectViewer  = "roles/storage.objectViewer"
	objectCreator = "roles/storage.objectCreator"
	objectUser    = "roles/storage.objectUser"
	bucketViewer  = "roles/storage.bucketViewer"
	// legacyBucketReader lets a client check whether a bucket exists and list its objects.
	legacyBucketReader = "roles/storage.legacyBucketReader"
)

// ByMode contains the role for each mode of one category. Empty means Google's default, or none.
type ByMode struct {
	ReadOnly  string `json:"readOnly,omitempty"`
	WriteOnly string `json:"writeOnly,omitempty"`
	ReadWrite string `json:"readWrite,omitempty"`
}

func (b ByMode) of(mode driverkit.Mode) string {
	switch mode {
	case driverkit.ReadOnly:
		return b.ReadOnly
	case driverkit.WriteOnly:
		return b.WriteOnly
	case driverkit.ReadWrite:
		return b.ReadWrite
	default:
		return ""
	}
}

// Roles contains the role for each mode of each category. A role never grants more than requested. Combinations that
// Google cannot separate are rejected unless the administrator configures a suitable role.
type Roles struct {
	ObjectData     ByMode `json:"objectData,omitzero"`
	ObjectMetadata ByMode `json:"objectMetadata,omitzero"`
	BucketMetadata ByMode `json:"bucketMetadata,omitzero"`
}

// Defaults fills in Google's roles.
func (r Roles) Defaults() Roles {
	fill := func(field *string, role string) {
		if *field == "" {
			*field = role
		}
	}
	fill(&r.ObjectData.ReadOnly, objectViewer)
	fill(&r.ObjectData.WriteOnly, objectCreator)
	fill(&r.ObjectData.ReadWrite, objectUser)
	fill(&r.BucketMetadata.ReadOnly, bucketViewer)
	return r
}

// rolePattern matches a predefined role or a custom role of a project or organization.
var rolePattern = regexp.MustCompile(`^((projects|organizations)/[^/\s]+/)?roles/[A-Za-z0-9_.]+$`)

// Check returns the errors in the configured roles, by field.
func (r Roles) Check() map[string]error {
	wrong := map[string]error{}
	for category, configured := range map[string]ByMode{"objectData": r.ObjectData, "objectMetadata": r.ObjectMetadata, "bucketMetadata": r.BucketMetadata} {
		for mode, role := range map[string]string{"readOnly": configured.ReadOnly, "writeOnly": configured.WriteOnly, "readWrite": configured.ReadWrite} {
			if role != "" && !rolePattern.MatchString(role) {
				wrong[category+"."+mode] = fmt.Errorf("%q is not a role such as roles/storage.objectUser or projects/P/roles/R", role)
			}
		}
	}
	return wrong
}

// Modes returns the access modes that some set of roles can express.
func Modes() driverkit.Modes {
	all := []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly}
	return driverkit.Modes{ObjectData: all, ObjectMetadata: all, BucketMetadata: all}
}

// Access is the requested access to one bucket.
type Access struct {
	ObjectData, ObjectMetadata, BucketMetadata driverkit.Mode
	// S3Client means that the workload uses an S3 client, which looks up the bucket before it reads.
	S3Client bool
}

// For returns the sorted roles for an access, or an error if Google cannot grant it.
func (r Roles) For(asked Access) ([]string, error) {
	if open(asked.ObjectData) && open(asked.ObjectMetadata) && open(asked.BucketMetadata) {
		return nil, errors.New("no access mode is requested; request at least one")
	}
	var found []string
	if !open(asked.ObjectData) {
		found = append(found, r.ObjectData.of(asked.ObjectData))
	}
	metadata, err := r.objectMetadata(asked)
	if err != nil {
		return nil, err
	}
	if metadata != "" {
		found = append(found, metadata)
	}
	if !open(asked.BucketMetadata) {
		role := r.BucketMetadata.of(asked.BucketMetadata)
		if role == "" {
			return nil, errors.New("bucket metadata cannot be written: Google's roles for this also allow users to remove the bucket's ownership mark and protection; " +
				"request ReadOnly, or have an administrator configure a role for the mode")
		}
		found = append(found, role)
	}
	if asked.S3Client && (asked.ObjectData == driverkit.ReadOnly || asked.ObjectData == driverkit.ReadWrite) {
		found = append(found, legacyBucketReader)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// objectMetadata returns the role for object metadata, or "" if the role for object data includes it. Google
// authorizes reading metadata together with reading data (storage.objects.get). Writing it needs a permission that
// only the role for reading and writing has (storage.objects.update).
func (r Roles) objectMetadata(asked Access) (string, error) {
	if open(asked.ObjectMetadata) {
		return "", nil
	}
	if role := r.ObjectMetadata.of(asked.ObjectMetadata); role != "" {
		return role, nil
	}
	reads := asked.ObjectData == driverkit.ReadOnly || asked.ObjectData == driverkit.ReadWrite
	switch {
	case asked.ObjectMetadata == driverkit.ReadOnly && reads, asked.ObjectData == driverkit.ReadWrite:
		return "", nil
	case asked.ObjectMetadata == driverkit.ReadOnly:
		return "", errors.New("object metadata cannot be read without object data: in Google Cloud, storage.objects.get allows both; also request object data ReadOnly or ReadWrite")
	default:
		return "", errors.New("object metadata cannot be written without reading and writing object data: no Google role has only storage.objects.update; " +
			"also request object data ReadWrite, or have an administrator configure a role for this")
	}
}

// Effective returns the effective access of an account that requested these modes. Access to object data includes
// object metadata; Google's role for reading and writing also has storage.objects.update. Effective assumes that a
// configured role matches its category and mode.
func Effective(asked driverkit.BucketAccess) driverkit.BucketAccess {
	asked.ObjectMetadata = asked.ObjectMetadata.With(asked.ObjectData)
	return asked
}

func open(mode driverkit.Mode) bool { return mode == driverkit.Any || mode == "" }
