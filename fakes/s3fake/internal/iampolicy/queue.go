// SPDX-License-Identifier: Apache-2.0

package iampolicy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ParseQueue parses the policy of a queue. Each statement must have a principal, and its actions must be those of SQS.
func ParseQueue(raw string) (*Document, error) {
	d, err := parse([]byte(raw))
	switch {
	case err != nil:
		return nil, fmt.Errorf("parse the policy of a queue: %w", err)
	case d.Version != version2008 && d.Version != version2012:
		return nil, errors.New("the version of the policy is invalid")
	case len(d.Statements) == 0:
		return nil, errors.New("the policy has no statement")
	}
	for i := range d.Statements {
		s := &d.Statements[i]
		actions := slices.Concat(s.Action, s.NotAction)
		foreign := func(action string) bool { return action != "*" && !strings.HasPrefix(strings.ToLower(action), "sqs:") }
		switch {
		case s.Effect != "Allow" && s.Effect != "Deny":
			return nil, errors.New("the effect of a statement is neither Allow nor Deny")
		case s.Principal == nil && s.NotPrincip == nil:
			return nil, errors.New("a statement has no principal")
		case len(actions) == 0 || slices.ContainsFunc(actions, foreign):
			return nil, errors.New("a statement has no actions, or others than those of SQS")
		case !conditionsValid(s.Condition):
			return nil, errors.New("a condition is invalid")
		}
	}
	return d, nil
}
