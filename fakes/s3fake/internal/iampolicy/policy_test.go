// SPDX-License-Identifier: Apache-2.0

package iampolicy_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

type everybody struct{}

func (everybody) PrincipalExists(string) bool { return true }

// FuzzDocuments parses and evaluates arbitrary documents of every kind.
func FuzzDocuments(f *testing.F) {
	f.Add(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"arn:aws:s3:::b/${aws:username}/*","Condition":{"StringLike":{"s3:prefix":["a*","${x,'y'}"]}}}]}`)
	f.Add(`{"Statement":{"Effect":"Deny","NotAction":["*"],"NotResource":"*","Principal":"*","Condition":{"ForAllValues:NumericLessThan":{"s3:max-keys":10},"Bool":{"aws:SecureTransport":false}}}}`)
	f.Add(`{"Statement":[{"Effect":"Allow","Principal":{"AWS":["*"]},"Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*","Condition":{"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}}]}`)
	f.Fuzz(func(_ *testing.T, raw string) {
		ctx := iampolicy.Context{}
		ctx.Set("aws:username", "u*")
		ctx.Set("s3:prefix", "a")
		ctx.Set("aws:SourceIp", "10.0.0.1")
		req := iampolicy.Request{Action: "s3:GetObject", Resource: "arn:aws:s3:::b/k", Context: ctx, Principal: iampolicy.Caller{AccountID: "1", ARNs: []string{"arn:aws:iam::1:user/u"}}}
		if d, err := iampolicy.ParseIdentity(raw); err == nil {
			d.Evaluate(req)
		}
		if d, err := iampolicy.ParseTrust(raw); err == nil {
			d.Evaluate(req)
		}
		if d, err := iampolicy.ParseBucket([]byte(raw), "b", everybody{}); err == nil {
			d.Evaluate(req)
			d.Public()
		}
	})
}

func TestConditions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		condition string
		context   map[string][]string
		want      iampolicy.Effect
	}{
		"StringEquals with the value":            {`"StringEquals":{"k":"v"}`, map[string][]string{"k": {"v"}}, iampolicy.Allow},
		"StringEquals with another value":        {`"StringEquals":{"k":"v"}`, map[string][]string{"k": {"w"}}, iampolicy.NoMatch},
		"StringEquals without the key":           {`"StringEquals":{"k":"v"}`, nil, iampolicy.NoMatch},
		"StringEqualsIfExists without the key":   {`"StringEqualsIfExists":{"k":"v"}`, nil, iampolicy.Allow},
		"StringNotEquals without the key":        {`"StringNotEquals":{"k":"v"}`, nil, iampolicy.Allow},
		"StringNotEquals with one of the values": {`"StringNotEquals":{"k":["v","w"]}`, map[string][]string{"k": {"w"}}, iampolicy.NoMatch},
		"StringLike with a wildcard":             {`"StringLike":{"k":"a*c"}`, map[string][]string{"k": {"abbc"}}, iampolicy.Allow},
		"a variable is literal, not a pattern":   {`"StringLike":{"k":"${v}"}`, map[string][]string{"k": {"abc"}, "v": {"a*"}}, iampolicy.NoMatch},
		"a variable with a default":              {`"StringEquals":{"k":"${v,'d'}"}`, map[string][]string{"k": {"d"}}, iampolicy.Allow},
		"a variable without a value":             {`"StringEquals":{"k":"${v}"}`, map[string][]string{"k": {"x"}}, iampolicy.NoMatch},
		"two operators are both needed":          {`"StringEquals":{"k":"v"},"Bool":{"b":"true"}`, map[string][]string{"k": {"v"}, "b": {"false"}}, iampolicy.NoMatch},
		"NumericLessThanEquals at the limit":     {`"NumericLessThanEquals":{"n":"10"}`, map[string][]string{"n": {"10"}}, iampolicy.Allow},
		"NumericLessThan at the limit":           {`"NumericLessThan":{"n":10}`, map[string][]string{"n": {"10"}}, iampolicy.NoMatch},
		"DateGreaterThan":                        {`"DateGreaterThan":{"d":"2020-01-01T00:00:00Z"}`, map[string][]string{"d": {"2021-01-01T00:00:00Z"}}, iampolicy.Allow},
		"IpAddress inside":                       {`"IpAddress":{"ip":"10.0.0.0/8"}`, map[string][]string{"ip": {"10.1.2.3"}}, iampolicy.Allow},
		"NotIpAddress inside":                    {`"NotIpAddress":{"ip":"10.0.0.0/8"}`, map[string][]string{"ip": {"10.1.2.3"}}, iampolicy.NoMatch},
		"ArnLike does not cross colons":          {`"ArnLike":{"a":"arn:aws:iam::*:user/x"}`, map[string][]string{"a": {"arn:aws:iam::1:b:user/x"}}, iampolicy.NoMatch},
		"Null true for an absent key":            {`"Null":{"k":"true"}`, nil, iampolicy.Allow},
		"Null false for an absent key":           {`"Null":{"k":"false"}`, nil, iampolicy.NoMatch},
		"ForAllValues with a value too many":     {`"ForAllValues:StringEquals":{"k":["a","b"]}`, map[string][]string{"k": {"a", "c"}}, iampolicy.NoMatch},
		"ForAllValues without the key":           {`"ForAllValues:StringEquals":{"k":["a","b"]}`, nil, iampolicy.Allow},
		"ForAnyValue with one value":             {`"ForAnyValue:StringEquals":{"k":["a","b"]}`, map[string][]string{"k": {"c", "a"}}, iampolicy.Allow},
		"ForAnyValue without the key":            {`"ForAnyValue:StringEquals":{"k":["a","b"]}`, nil, iampolicy.NoMatch},
		"StringEqualsIgnoreCase":                 {`"StringEqualsIgnoreCase":{"k":"ABC"}`, map[string][]string{"k": {"abc"}}, iampolicy.Allow},
		"BinaryEquals":                           {`"BinaryEquals":{"k":"QQ=="}`, map[string][]string{"k": {"QQ=="}}, iampolicy.Allow},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := iampolicy.ParseIdentity(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:Get*","Resource":"*","Condition":{` + tc.condition + `}}]}`)
			if err != nil {
				t.Fatal(err)
			}
			ctx := iampolicy.Context{}
			for k, v := range tc.context {
				ctx.Set(k, v...)
			}
			if got := d.Evaluate(iampolicy.Request{Action: "s3:GetObject", Resource: "arn:aws:s3:::b/k", Context: ctx}); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
