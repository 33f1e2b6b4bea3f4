// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

var (
	pageParameters = accept.Names("Marker", "MaxItems")
	tagParameters  = accept.Names("Tags.member.Key", "Tags.member.Value") // the parameters of every tag, such as Tags.member.1.Key
)

// ofRequests are the parameters of all operations: action and version, and a signature in the query.
var ofRequests = accept.Names("Action", "Version", "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-Security-Token", "X-Amz-Signature",
	"X-Amz-SignedHeaders")

// element is the number of an element in the name of a parameter.
var element = regexp.MustCompile(`^(\w+\.member)\.([1-9]\d*)(\.\w+)?$`)

// checkParameters rejects parameters that the operation does not have or the fake does not implement. It also rejects
// a list element after a missing one. If the fake ignored any of them, the operation would not do what the client
// requested.
func (c *call) checkParameters(accepted accept.List) error {
	for _, name := range slices.Sorted(maps.Keys(c.Form)) {
		plain := name
		if at := element.FindStringSubmatch(name); at != nil {
			plain = at[1] + at[3]
			if n, err := strconv.Atoi(at[2]); err != nil || n > 1 && !c.hasElement(at[1]+"."+strconv.Itoa(n-1)) {
				return awserr.Newf(http.StatusBadRequest, "MalformedInput", "The list parameter %s has no predecessor. Number the elements from 1 without gaps.", name)
			}
		}
		if c.Form.Get(name) == "" && accepted.HasBelow(name) {
			continue // how the SDKs send an empty list
		}
		if !ofRequests.Has(plain) && !accepted.Has(plain) {
			return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The parameter %s of %s is not supported by this fake.", name, c.action)
		}
	}
	return nil
}

func (c *call) hasElement(name string) bool {
	for other := range c.Form {
		if other == name || strings.HasPrefix(other, name+".") {
			return true
		}
	}
	return false
}
