// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

var errMalformedInput = awserr.New(http.StatusBadRequest, "MalformedInput", "")

// taggable is one kind of entity with tags.
type taggable struct {
	// parameter is the name of the parameter that id reads.
	parameter string
	resource  func(*call) string
	id        func(*call) (string, error)
	get       func(*iam.Account, string) ([]iam.Tag, error)
	add       func(*iam.Account, string, []iam.Tag) error
	remove    func(*iam.Account, string, []string) error
	// read parses tags of this kind: keys may be case-sensitive or not.
	read func(*call) ([]iam.Tag, error)
}

func tagOperations() map[string]operation {
	table := map[string]operation{}
	for noun, t := range taggables() {
		table["Tag"+noun] = operation{resource: t.resource, run: on(t.id, t.tag), parameters: tagParameters.With(t.parameter)}
		table["Untag"+noun] = operation{resource: t.resource, run: on(t.id, t.untag), parameters: accept.Names(t.parameter, "TagKeys.member")}
		table["List"+noun+"Tags"] = operation{resource: t.resource, run: on(t.id, t.list), parameters: pageParameters.With(t.parameter)}
	}
	return table
}

func taggables() map[string]taggable {
	table := map[string]taggable{
		"Policy": {
			parameter: "PolicyArn", resource: policyARN, id: func(c *call) (string, error) { return c.arn("PolicyArn") },
			get: func(a *iam.Account, arn string) ([]iam.Tag, error) {
				p, _, err := a.ManagedPolicy(arn)
				return p.Tags, err
			}, add: (*iam.Account).TagPolicy, remove: (*iam.Account).UntagPolicy, read: (*call).exactTags,
		},
		"OpenIDConnectProvider": {
			parameter: "OpenIDConnectProviderArn", resource: providerARN, id: (*call).providerARN,
			get: (*iam.Account).ProviderTags, add: (*iam.Account).TagProvider, remove: (*iam.Account).UntagProvider, read: (*call).exactTags,
		},
	}
	for _, kind := range []iam.Kind{iam.KindUser, iam.KindRole} {
		noun, arn := nounOf(kind)
		table[noun] = taggable{
			parameter: noun + "Name", resource: arn, id: func(c *call) (string, error) { return c.entity(kind) },
			get: func(a *iam.Account, name string) ([]iam.Tag, error) {
				i, err := a.Identity(kind, name)
				return i.Tags, err
			},
			add:    func(a *iam.Account, name string, tags []iam.Tag) error { return a.AddTags(kind, name, tags) },
			remove: func(a *iam.Account, name string, keys []string) error { return a.RemoveTags(kind, name, keys) },
			read:   (*call).tags,
		}
	}
	return table
}

func (t taggable) tag(c *call, id string) (any, error) {
	tags, err := t.read(c)
	if err != nil {
		return nil, err
	}
	if len(tags) == 0 {
		return nil, constraint("tags", "Member must not be null")
	}
	return empty{}, t.add(c.account, id, tags)
}

func (t taggable) untag(c *call, id string) (any, error) {
	keys, err := c.tagKeys()
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, constraint("tagKeys", "Member must not be null")
	}
	return empty{}, t.remove(c.account, id, keys)
}

func (t taggable) list(c *call, id string) (any, error) {
	tags, err := t.get(c.account, id)
	if err != nil {
		return nil, err
	}
	shown, p, err := listed(c, sortedTags(tags), func(t iam.Tag) string { return t.Key }, func(t iam.Tag) xmlTag { return xmlTag(t) })
	return struct {
		Tags []xmlTag `xml:"Tags>member"`
		page
	}{shown, p}, err
}
