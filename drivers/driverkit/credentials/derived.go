// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// DerivedKeys manages the keys of one account at a backend that stores a mark for each key. The driver can recompute
// the secret of a key from its mark. For example, the mark can be a stored access policy of Azure Blob, to which a
// signature refers. It can also be the ID of a user, if the store accepts a secret that a Deriver computed from the
// mark.
type DerivedKeys interface {
	// List returns the marks of the account, including those of incomplete keys. List also returns invalid values that
	// the backend stores in place of a mark, because they show that the account has another owner.
	List(ctx context.Context) ([]Mark, error)
	// Derive returns the credential for a mark. The result is always the same for the same mark, and Derive changes
	// nothing.
	Derive(ctx context.Context, mark Mark) (Credential, error)
	// Ensure makes the backend accept the mark's credential, with the account's permissions.
	Ensure(ctx context.Context, mark Mark) error
	// Remove ensures that the backend does not have the mark and does not accept its credential.
	Remove(ctx context.Context, mark Mark) error
}

// GrantDerived returns the credential of the account. Repeated calls return the same credential until the rotation
// changes. After a rotation, only the new credential and the one before it work.
//
// GrantDerived stores no secrets: the backend stores the marks, and the driver computes the secret from a mark.
func GrantDerived(ctx context.Context, request MarkedRequest, keys DerivedKeys) (Credential, error) {
	marks, err := keys.List(ctx)
	if err != nil {
		return Credential{}, err
	}
	plan, err := request.plan(marks)
	if err != nil {
		return Credential{}, err
	}
	if err := removeAll(ctx, plan.Stale, keys.Remove, nil); err != nil {
		return Credential{}, err
	}
	for _, mark := range []Mark{plan.Previous, plan.Current} {
		if mark == "" {
			continue
		}
		if err := keys.Ensure(ctx, mark); err != nil {
			return Credential{}, err
		}
	}
	return keys.Derive(ctx, plan.Current)
}

// RevokeDerived removes all marks of the account. It then calls rest, if it is not nil, to remove everything else
// that belongs to the account. It returns FailedPrecondition if the account has another owner.
func RevokeDerived(ctx context.Context, request MarkedRequest, keys DerivedKeys, rest func(context.Context) error) error {
	marks, err := keys.List(ctx)
	if err != nil {
		return err
	}
	if err := request.checkMine(marks, driverkit.FailedPrecondition); err != nil {
		return err
	}
	return removeAll(ctx, marks, keys.Remove, rest)
}

// minMaster is the minimum length of a Deriver's master key in bytes.
const minMaster = 32

// Deriver derives secrets from a master key. Anyone who has the master key can compute all secrets. Changing the
// master key changes all credentials.
type Deriver struct {
	master cosi.Secret
	driver string
}

// NewDeriver returns a Deriver for a driver. The driver's name separates its secrets from those of other drivers with
// the same master key. The master key must be random and at least 32 bytes long.
func NewDeriver(master cosi.Secret, driver string) (Deriver, error) {
	if length := len(master.Reveal()); length < minMaster {
		return Deriver{}, fmt.Errorf("the master key has %d bytes, but must have at least %d random bytes", length, minMaster)
	}
	return Deriver{master: master, driver: driver}, nil
}

// Secret returns the secret of an account's credential: 200 bits, encoded as 40 letters and digits.
func (d Deriver) Secret(account string, mark Mark) (cosi.Secret, error) {
	const bytes = 25
	// Quoting makes the boundaries between the parts unambiguous.
	info := fmt.Sprintf("cosi credential %q %q %q", d.driver, account, mark)
	derived, err := hkdf.Key(sha256.New, []byte(d.master.Reveal()), nil, info, bytes)
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("derive a secret: %w", err)
	}
	return cosi.NewSecret(strings.ToLower(base32.StdEncoding.EncodeToString(derived))), nil
}
