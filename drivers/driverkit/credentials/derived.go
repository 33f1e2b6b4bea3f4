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

// DerivedKeys are the keys of one account at a backend that keeps a mark for each, from which the
// driver can tell the secret again: the stored access policies of Azure Blob, which a signature names,
// or the users of a store that takes a secret from its caller, made from the mark with a Deriver.
type DerivedKeys interface {
	// List returns the marks of the account, also of keys that are not complete. Whatever else is in the place of a mark is
	// among them: it shows that the account is somebody else's.
	List(ctx context.Context) ([]Mark, error)
	// Derive returns the credential for a mark, always the same one. It changes nothing.
	Derive(ctx context.Context, mark Mark) (Credential, error)
	// Ensure makes sure that the backend accepts the credential of the mark, with the account's rights.
	Ensure(ctx context.Context, mark Mark) error
	// Remove makes sure that the backend does not have the mark, nor accept its credential.
	Remove(ctx context.Context, mark Mark) error
}

// GrantDerived returns the credential of the account: the same one on every repeat, another one when
// the rotation changes. After a rotation exactly the previous credential keeps working.
//
// No secret is kept anywhere: the backend has the marks, the driver what turns a mark into a secret.
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

// RevokeDerived removes all marks of the account, then what else belongs to it (rest, which may be
// nil). The account of somebody else is FailedPrecondition.
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

// minMaster is the shortest master key of a Deriver, in bytes.
const minMaster = 32

// Deriver makes secrets from a master key. Whoever has the master key has all secrets; with another
// one, all credentials are others.
type Deriver struct {
	master cosi.Secret
	driver string
}

// NewDeriver makes one for a driver, whose name keeps its secrets apart from those of others with the
// same master key. The master key is random, at least 32 bytes.
func NewDeriver(master cosi.Secret, driver string) (Deriver, error) {
	if length := len(master.Reveal()); length < minMaster {
		return Deriver{}, fmt.Errorf("the master key has %d bytes, but must have at least %d, random ones", length, minMaster)
	}
	return Deriver{master: master, driver: driver}, nil
}

// Secret returns the secret of an account's credential: 200 bits, 40 letters and digits.
func (d Deriver) Secret(account string, mark Mark) (cosi.Secret, error) {
	const bytes = 25
	// Quoting keeps the parts apart.
	info := fmt.Sprintf("cosi credential %q %q %q", d.driver, account, mark)
	derived, err := hkdf.Key(sha256.New, []byte(d.master.Reveal()), nil, info, bytes)
	if err != nil {
		return cosi.Secret{}, fmt.Errorf("derive a secret: %w", err)
	}
	return cosi.NewSecret(strings.ToLower(base32.StdEncoding.EncodeToString(derived))), nil
}
