// SPDX-License-Identifier: Apache-2.0

package params

import "github.com/cooper-cosi/cooper/drivers/driverkit"

// Keys of BucketAccessClass parameters.
const (
	keyAllowDelete = "allowDelete"
	keyShared      = "acceptSharedCredential"
)

// Access is what a BucketAccessClass asks of an account.
type Access struct {
	// NoDelete leaves the deletion of objects out of write access.
	NoDelete bool
	// AcceptShared allows a backend without accounts to give everybody its one key.
	AcceptShared bool
}

// AccessParameters declares what a BucketAccessClass may set.
func AccessParameters() driverkit.Parameters {
	return driverkit.Parameters{
		keyAllowDelete: {Description: "false leaves the deletion of objects out of write access. Default: true.", Check: driverkit.Boolean},
		keyShared:      {Description: "true accepts that a backend without accounts (type static) gives one key to every access. Default: false, which refuses it.", Check: driverkit.Boolean},
	}
}

// ParseAccess reads the parameters of a class, which the kit has checked.
func ParseAccess(values driverkit.Values) Access {
	return Access{
		NoDelete:     values[keyAllowDelete] == "false",
		AcceptShared: values.Bool(keyShared),
	}
}
