// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GrantedVariable tells the next Environment in the same shell which variables came from which access Secret:
// "<namespace>/<secret>:NAME,NAME <namespace>/<secret>:NAME".
const GrantedVariable = "COOPER_GRANTED"

// A granted is a Secret and the variables that a shell has from it.
type granted struct {
	secret types.NamespacedName
	names  []string
}

// parseGranted parses the value of GrantedVariable. It ignores malformed parts.
func parseGranted(text string) []granted {
	var found []granted
	for entry := range strings.FieldsSeq(text) {
		secret, names, ok := strings.Cut(entry, ":")
		namespace, name, qualified := strings.Cut(secret, "/")
		if ok && qualified && names != "" {
			found = append(found, granted{types.NamespacedName{Namespace: namespace, Name: name}, strings.Split(names, ",")})
		}
	}
	return found
}

func printGranted(all []granted) string {
	entries := make([]string, len(all))
	for i, one := range all {
		entries[i] = one.secret.String() + ":" + strings.Join(one.names, ",")
	}
	return strings.Join(entries, " ")
}

// replace returns the granted variables of a shell after now is added to before, and the variables to unset:
// those that now's Secret no longer has, and those of Secrets for which exists returns false. A variable
// belongs to the Secret that set it last.
func replace(before []granted, now granted, exists func(types.NamespacedName) (bool, error)) (after []granted, unset []string, err error) {
	for _, one := range before {
		kept := slices.DeleteFunc(slices.Clone(one.names), func(name string) bool { return slices.Contains(now.names, name) })
		there := false
		if one.secret != now.secret {
			if there, err = exists(one.secret); err != nil {
				return nil, nil, err
			}
		}
		switch {
		case !there:
			unset = append(unset, kept...)
		case len(kept) > 0:
			after = append(after, granted{one.secret, kept})
		}
	}
	if len(now.names) > 0 {
		after = append(after, now)
	}
	return after, unset, nil
}

// settle adds GrantedVariable to the variables of an access Secret, and returns the variables of this shell
// that no Secret grants now.
func settle(ctx context.Context, c client.Client, before string, secret types.NamespacedName, variables map[string]string) ([]string, error) {
	now := granted{secret, slices.Sorted(maps.Keys(variables))}
	after, unset, err := replace(parseGranted(before), now, func(key types.NamespacedName) (bool, error) {
		err := c.Get(ctx, key, &corev1.Secret{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read Secret %s: %w", key, err)
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	switch {
	case len(after) > 0:
		variables[GrantedVariable] = printGranted(after)
	case before != "":
		unset = append(unset, GrantedVariable)
	}
	return unset, nil
}
