// SPDX-License-Identifier: Apache-2.0

package params

import "github.com/cooper-cosi/cooper/drivers/driverkit"

// Keys of BucketAccessClass parameters.
const (
	keyAllowDelete = "allowDelete"
	keyShared      = "acceptSharedCredential"
)

// Access holds the parameters of a BucketAccessClass.
type Access struct {
	// NoDelete excludes the deletion of objects from write access.
	NoDelete bool
	// AcceptShared allows a backend without accounts to give its one key to every access.
	AcceptShared bool
}

// AccessParameters declares the parameters that a BucketAccessClass may set.
func AccessParameters() driverkit.Parameters {
	return driverkit.Parameters{
		keyAllowDelete: {Description: "false excludes the deletion of objects from write access. Default: true.", Check: driverkit.Boolean},
		keyShared:      {Description: "true accepts that a backend without accounts (type static) gives the same key to all accesses. Default: false, which rejects accesses.", Check: driverkit.Boolean},
	}
}

// ParseAccess parses the parameters of a class, which the kit has validated.
func ParseAccess(values driverkit.Values) Access {
	return Access{
		NoDelete:     values[keyAllowDelete] == "false",
		AcceptShared: values.Bool(keyShared),
	}
}
