// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

func providerOperations() map[string]operation {
	return map[string]operation{
		"CreateOpenIDConnectProvider": {
			tagging: "iam:TagOpenIDConnectProvider", run: createProvider,
			parameters: tagParameters.With("ClientIDList.member", "ThumbprintList.member", "Url"),
		},
		"GetOpenIDConnectProvider": {
			resource: providerARN, run: on((*call).providerARN, getProvider),
			parameters: accept.Names("OpenIDConnectProviderArn"),
		},
		"ListOpenIDConnectProviders": {run: listProviders},
		"DeleteOpenIDConnectProvider": {
			resource: providerARN, run: on((*call).providerARN, withoutResult((*iam.Account).DeleteProvider)),
			parameters: accept.Names("OpenIDConnectProviderArn"),
		},
		"AddClientIDToOpenIDConnectProvider": {
			resource: providerARN, run: on((*call).providerARN, withArgument((*call).clientID, (*iam.Account).AddClientID)),
			parameters: accept.Names("ClientID", "OpenIDConnectProviderArn"),
		},
		"RemoveClientIDFromOpenIDConnectProvider": {
			resource: providerARN, run: on((*call).providerARN, withArgument((*call).clientID, (*iam.Account).RemoveClientID)),
			parameters: accept.Names("ClientID", "OpenIDConnectProviderArn"),
		},
		"UpdateOpenIDConnectProviderThumbprint": {
			resource: providerARN, run: on((*call).providerARN, updateThumbprints),
			parameters: accept.Names("OpenIDConnectProviderArn", "ThumbprintList.member"),
		},
	}
}

func providerARN(c *call) string { return c.Form.Get("OpenIDConnectProviderArn") }

func (c *call) providerARN() (string, error) {
	arn, err := c.arn("OpenIDConnectProviderArn")
	if err == nil && !strings.Contains(arn, ":oidc-provider/") {
		return "", invalid("Invalid resource type in ARN")
	}
	if own := c.account.ARN("oidc-provider", "/", ""); err == nil && !strings.HasPrefix(arn, own) {
		return "", awserr.Newf(http.StatusForbidden, "AccessDenied", "User: %s is not authorized to perform this action on resource: %s", c.Principal.ARN, arn)
	}
	return arn, err
}

// thumbprintLength is that of a SHA-1 in hex. IAM looks at nothing else of a thumbprint.
const thumbprintLength = 40

func (c *call) thumbprints() ([]string, error) {
	list := c.members("ThumbprintList")
	if len(list) > iam.MaxThumbprints {
		return nil, awserr.Newf(http.StatusBadRequest, "InvalidInput", "Thumbprint list must contain fewer than %d entries.", iam.MaxThumbprints)
	}
	for _, t := range list {
		if len(t) != thumbprintLength {
			return nil, awserr.New(http.StatusBadRequest, "InvalidInput", "Thumbprint must be exactly 40 characters.")
		}
	}
	for i := range list {
		list[i] = strings.ToLower(list[i])
	}
	return list, nil
}

var issuerHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:\d+)?$`)

// checkProviderURL applies IAM's rules, but allows a port: IAM's issuers are on the internet, those of a fake rarely
// are.
func checkProviderURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return invalid("Invalid Open ID Connect Provider URL")
	}
	if u.Scheme != "https" {
		return awserr.New(http.StatusBadRequest, "InvalidInput", "Invalid Open ID Connect Provider URL. The URL must begin with https://.")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" || !issuerHost.MatchString(u.Host) {
		return awserr.New(http.StatusBadRequest, "InvalidInput", "Invalid Open ID Connect Provider URL.")
	}
	return nil
}

func createProvider(c *call) (any, error) {
	raw, err := c.required("Url", 255)
	if err != nil {
		return nil, err
	}
	if err := checkProviderURL(raw); err != nil {
		return nil, err
	}
	in := iam.NewProvider{URL: raw, ClientIDs: c.members("ClientIDList")}
	for _, id := range in.ClientIDs {
		switch {
		case id == "":
			return nil, constraint("clientID", "Member must have length greater than or equal to 1")
		case len(id) > 255:
			return nil, constraint("clientID", "Member must have length less than or equal to 255")
		}
	}
	if len(in.ClientIDs) > iam.MaxClientIDs {
		return nil, awserr.Newf(http.StatusConflict, "LimitExceeded", "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: %d", iam.MaxClientIDs)
	}
	if in.Thumbprints, err = c.thumbprints(); err != nil {
		return nil, err
	}
	if in.Tags, err = c.exactTags(); err != nil {
		return nil, err
	}
	p, err := c.account.CreateProvider(in)
	if err != nil {
		return nil, err
	}
	return struct {
		ARN  string   `xml:"OpenIDConnectProviderArn"`
		Tags []xmlTag `xml:"Tags>member,omitempty"`
	}{p.ARN, xmlTags(p.Tags)}, nil
}

func getProvider(c *call, arn string) (any, error) {
	p, err := c.account.Provider(arn)
	if err != nil {
		return nil, err
	}
	return struct {
		URL         string   `xml:"Url"`
		ClientIDs   []string `xml:"ClientIDList>member"`
		Thumbprints []string `xml:"ThumbprintList>member"`
		CreateDate  string
		Tags        []xmlTag `xml:"Tags>member,omitempty"`
	}{p.URL, p.ClientIDs, p.Thumbprints, stamp(p.Created), xmlTags(p.Tags)}, nil
}

func listProviders(c *call) (any, error) {
	type entry struct {
		ARN string `xml:"Arn"`
	}
	out := struct {
		List []entry `xml:"OpenIDConnectProviderList>member"`
	}{}
	for _, p := range c.account.Providers() {
		out.List = append(out.List, entry{p.ARN})
	}
	return out, nil
}

func (c *call) clientID() (string, error) { return c.required("ClientID", 255) }

func updateThumbprints(c *call, arn string) (any, error) {
	list, err := c.thumbprints()
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, awserr.New(http.StatusBadRequest, "InvalidInput", "Thumbprint list must contain at least one entry.")
	}
	return empty{}, c.account.SetThumbprints(arn, list)
}

func sortedTags(tags []iam.Tag) []iam.Tag {
	slices.SortFunc(tags, func(a, b iam.Tag) int { return strings.Compare(a.Key, b.Key) })
	return tags
}
