// SPDX-License-Identifier: Apache-2.0

package azurefakecmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// wellKnownKey is the documented key1 of Azurite's account devstoreaccount1, which UseDevelopmentStorage=true selects.
const wellKnownKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

// parseAccounts parses the values of --account: NAME, NAME:KEY1 or NAME:KEY1:KEY2. Like AZURITE_ACCOUNTS, one value may
// contain several accounts, separated by semicolons.
func parseAccounts(values []string) ([]azurefake.Account, error) {
	var out []azurefake.Account
	for _, value := range values {
		for one := range strings.SplitSeq(strings.Trim(value, "; "), ";") {
			name, keys, _ := strings.Cut(strings.TrimSpace(one), ":")
			key1, key2, _ := strings.Cut(keys, ":")
			if strings.Contains(key2, ":") {
				return nil, fmt.Errorf("--account %s: it must be NAME, NAME:KEY1 or NAME:KEY1:KEY2", name)
			}
			out = append(out, azurefake.Account{Name: name, Key: key1, Key2: key2})
		}
	}
	if len(out) == 0 || len(out) == 1 && out[0].Name == "" {
		return nil, errors.New("--account is empty; set the name of at least one storage account")
	}
	return out, nil
}

// firstKey returns key1 of the first account, or "" if it must be read from --data or generated.
func (o *options) firstKey(account azurefake.Account) (string, error) {
	switch {
	case o.key != "" && o.keyFile != "":
		return "", errors.New("--key and --key-file are mutually exclusive")
	case account.Key != "" && (o.key != "" || o.keyFile != ""):
		return "", errors.New("--key and --key-file cannot be used if --account contains a key")
	case o.key != "":
		return o.key, nil
	case o.keyFile != "":
		key, err := os.ReadFile(o.keyFile)
		if err != nil {
			return "", fmt.Errorf("read --key-file: %w", err)
		}
		return strings.TrimSpace(string(key)), nil
	case account.Key != "" || account.Name != azurefake.DefaultAccount:
		return account.Key, nil
	case o.Like == "azurite":
		return wellKnownKey, nil
	case o.Loopback() && o.isNew():
		o.wellKnown = true
		return wellKnownKey, nil
	}
	return "", nil
}

// checkKeys rejects Azurite's public key on an address that is not a loopback address unless a flag set it. The key can
// be in --data since a start on a loopback address.
func (o *options) checkKeys(accounts []azurefake.Account, server *azurefake.Server) error {
	for _, a := range accounts {
		if key, _ := server.Keys(a.Name); a.Key == "" && key == wellKnownKey && !o.Loopback() {
			return fmt.Errorf("the account %s in --data has Azurite's public key, but --listen %s is not a loopback address; set another key with --key", a.Name, o.Listen)
		}
	}
	return nil
}

// isNew reports whether --data contains no accounts, whose keys must not change.
func (o *options) isNew() bool {
	entries, err := os.ReadDir(o.Data)
	return o.Data == "" || errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0
}
