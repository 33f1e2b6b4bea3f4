// SPDX-License-Identifier: Apache-2.0

package params

import (
	"errors"
	"fmt"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Keys of BucketAccessClass parameters.
const (
	keyAllowDelete    = "allowDelete"
	keyDeleteVersions = "deleteVersions"
	keyExpiry         = "expiry"
)

// MinExpiry and MaxExpiry limit the lifetime of a credential. A shorter lifetime leaves no time for clock skew and
// renewal.
const (
	MinExpiry = 15 * time.Minute
	MaxExpiry = 10 * 365 * 24 * time.Hour
)

// Access holds the parameters of a BucketAccessClass.
type Access struct {
	// NoDelete excludes the deletion of blobs from write access.
	NoDelete bool
	// DeleteVersions adds the deletion of versions to read and write access.
	DeleteVersions bool
	// Lifetime is the lifetime of a credential unless it is extended, or 0 for no limit.
	Lifetime time.Duration
}

// AccessParameters declares the parameters that a BucketAccessClass may set.
func AccessParameters() driverkit.Parameters {
	return driverkit.Parameters{
		keyAllowDelete:    {Description: "false excludes the deletion of blobs from write access. Default: true.", Check: driverkit.Boolean},
		keyDeleteVersions: {Description: "true allows accesses with mode ReadWrite to delete versions of blobs. Default: false.", Check: driverkit.Boolean},
		keyExpiry:         {Description: "Lifetime of the credential, such as 720h. The sidecar renews it before it expires; the token does not change. Default: unlimited.", Check: checkExpiry},
	}
}

// ParseAccess parses the parameters of a class. Its errors are driverkit errors with code InvalidArgument.
func ParseAccess(values driverkit.Values) (Access, error) {
	access := Access{NoDelete: values[keyAllowDelete] == "false", DeleteVersions: values.Bool(keyDeleteVersions)}
	if access.NoDelete && access.DeleteVersions {
		return Access{}, driverkit.InvalidArgument("parameter %s cannot be true while %s is false", keyDeleteVersions, keyAllowDelete)
	}
	var err error
	if access.Lifetime, err = parseExpiry(values[keyExpiry]); err != nil {
		return Access{}, driverkit.InvalidArgument("parameter %s %v", keyExpiry, err)
	}
	return access, nil
}

func checkExpiry(value string) error {
	if value == "" {
		return errors.New("is empty; omit it for a credential without an expiry")
	}
	_, err := parseExpiry(value)
	return err
}

func parseExpiry(value string) (time.Duration, error) {
	if value == "" {
		return 0, nil
	}
	life, err := time.ParseDuration(value)
	if err != nil || life < MinExpiry || life > MaxExpiry || life%time.Second != 0 {
		return 0, fmt.Errorf("is %q, but must be a duration in whole seconds from %s to %s, such as 720h or 90m", value, "15m", "87600h")
	}
	return life, nil
}
