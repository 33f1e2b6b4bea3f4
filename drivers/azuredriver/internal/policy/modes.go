// SPDX-License-Identifier: Apache-2.0

// Package policy translates the access modes of COSI into stored access policies of a container. It makes no calls to
// Azure. Functions that need the current time take it as an argument.
package policy

import (
	"errors"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// order is the order that Azure requires for the letters of a permission.
const order = "racwdxltfmeopi"

// Access is an account's access to a container.
type Access struct {
	ObjectData, ObjectMetadata, BucketMetadata driverkit.Mode
	// NoDelete excludes the deletion of blobs from writing.
	NoDelete bool
	// DeleteVersions adds the deletion of versions to reading and writing.
	DeleteVersions bool
}

// Modes returns the access modes that Permission can express. A request can combine a mode for object metadata only
// with the same mode for object data.
func Modes() driverkit.Modes {
	all := []driverkit.Mode{driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly}
	return driverkit.Modes{ObjectData: all, ObjectMetadata: all}
}

// Check returns an error if Azure cannot grant the access. Permission to read a blob includes reading its metadata,
// and permission to write a blob includes writing its metadata. A single permission covers both reading and writing
// blob tags. No signature for a container covers the container's own properties.
func (a Access) Check() error {
	data, metadata := unset(a.ObjectData), unset(a.ObjectMetadata)
	switch {
	case unset(a.BucketMetadata) != driverkit.Any:
		return errors.New("bucket metadata cannot be granted: no SAS token for a container covers its properties; leave bucket metadata unset")
	case data == driverkit.Any && metadata == driverkit.Any:
		return errors.New("no access mode is requested; request object data ReadOnly, WriteOnly or ReadWrite")
	case metadata != driverkit.Any && metadata != data:
		return errors.New("Azure cannot separate object metadata from object data: the permission for a blob includes its metadata; " +
			"request the same mode for both, or leave object metadata unset")
	}
	return nil
}

// Effective returns the effective access of an account that requested these modes: permission for a blob includes its
// metadata.
func Effective(asked driverkit.BucketAccess) driverkit.BucketAccess {
	asked.ObjectMetadata = asked.ObjectMetadata.With(asked.ObjectData)
	return asked
}

func unset(mode driverkit.Mode) driverkit.Mode {
	if mode == "" {
		return driverkit.Any
	}
	return mode
}

// Permission returns the letters of the access in Azure's order. The access must have passed Check.
func (a Access) Permission() string {
	letters := ""
	switch a.ObjectData {
	case driverkit.ReadOnly:
		return "rl"
	case driverkit.WriteOnly:
		letters = "acw"
	case driverkit.ReadWrite:
		letters = "racwl"
		if a.ObjectMetadata == driverkit.ReadWrite {
			letters += "tf"
		}
		if a.DeleteVersions {
			letters += "x"
		}
	case driverkit.Any:
		return ""
	}
	if !a.NoDelete {
		letters += "d"
	}
	return Ordered(letters)
}

// Ordered sorts the letters of a permission in Azure's order and removes duplicates.
func Ordered(letters string) string {
	var sorted strings.Builder
	for _, letter := range order {
		if strings.ContainsRune(letters, letter) {
			sorted.WriteRune(letter)
		}
	}
	return sorted.String()
}
