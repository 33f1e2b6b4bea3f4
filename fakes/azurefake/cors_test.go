// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// corsRule writes a rule.
func corsRule(origins, methods, sent, exposed string) string {
	return "<CorsRule><AllowedOrigins>" + origins + "</AllowedOrigins><AllowedMethods>" + methods + "</AllowedMethods><AllowedHeaders>" + sent +
		"</AllowedHeaders><ExposedHeaders>" + exposed + "</ExposedHeaders><MaxAgeInSeconds>200</MaxAgeInSeconds></CorsRule>"
}

// setCORS sets the rules of the account.
func setCORS(rules ...string) request {
	return request{
		method: "PUT", blob: "/", query: "restype=service&" + comp + "properties",
		body: "<StorageServiceProperties><Cors>" + strings.Join(rules, "") + "</Cors></StorageServiceProperties>",
	}
}

// TestCORS sends requests of browsers ("Preflight Blob Request", and the tables of "Cross-Origin Resource Sharing
// (CORS) support for Azure Storage").
func TestCORS(t *testing.T) {
	t.Parallel()
	some := corsRule("https://a.example,https://b.example", "PUT,GET", "x-ms-*,Content-Type", "ETag,x-ms-meta-*")
	all := corsRule("*", "GET,PUT", "*", "*")
	preflight := func(origin, method, sent string) request {
		with := headers{}
		for name, value := range map[string]string{"Origin": origin, "Access-Control-Request-Method": method, "Access-Control-Request-Headers": sent} {
			if value != "" {
				with[name] = value
			}
		}
		return request{method: "OPTIONS", blob: "b", headers: with}
	}
	from := func(origin string) headers { return headers{"Origin": origin} }
	refused := func(call request, rules ...string) behaviour {
		return behaviour{before: []request{setCORS(rules...)}, call: call, status: 403, code: "CorsPreflightFailure", headers: headers{"Access-Control-Allow-Origin": ""}}
	}
	there := func(rules ...string) []request {
		return []request{setCORS(rules...), put("b", "x", headers{"X-Ms-Meta-Color": "amber"})}
	}
	none := headers{"Access-Control-Allow-Origin": "", "Access-Control-Expose-Headers": "", "Vary": ""}
	vary := maps.Clone(none)
	vary["Vary"] = "Origin"
	for name, row := range map[string]behaviour{
		"an account has no rules":                  refused(preflight("https://a.example", "PUT", "")),
		"a preflight is allowed":                   {before: []request{setCORS(some)}, call: preflight("https://a.example", "PUT", "x-ms-blob-type,content-type"), status: 200, headers: headers{"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "x-ms-blob-type,content-type", "Access-Control-Max-Age": "200", "Access-Control-Allow-Credentials": "true"}},
		"a preflight by a rule for all":            {before: []request{setCORS(all)}, call: preflight("https://c.example", "PUT", "x-ms-blob-type"), status: 200, headers: headers{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": ""}},
		"a preflight by the second rule":           {before: []request{setCORS(some, all)}, call: preflight("https://a.example", "PUT", "authorization"), status: 200, headers: headers{"Access-Control-Allow-Origin": "*"}},
		"a preflight of another origin":            refused(preflight("https://c.example", "PUT", ""), some),
		"a preflight of an origin in another case": refused(preflight("https://A.example", "PUT", ""), some),
		"a preflight of another method":            refused(preflight("https://a.example", "DELETE", ""), some),
		"a preflight of another header":            refused(preflight("https://a.example", "PUT", "x-ms-blob-type,authorization"), some),
		"a preflight without an origin":            {before: []request{setCORS(all)}, call: preflight("", "PUT", ""), status: 400, code: "InvalidHeaderValue"},
		"a preflight without a method":             {before: []request{setCORS(all)}, call: preflight("https://a.example", "", ""), status: 400, code: "InvalidHeaderValue"},
		"a preflight of a subdomain":               {before: []request{setCORS(corsRule("*.a.example", "PUT", "", ""))}, call: preflight("x.y.A.example", "PUT", ""), status: 200, headers: headers{"Access-Control-Allow-Origin": "x.y.A.example"}},
		"a preflight of no subdomain":              refused(preflight("a.example", "PUT", ""), corsRule("*.a.example", "PUT", "", "")),
		"a preflight of a similar domain":          refused(preflight("x.ba.example", "PUT", ""), corsRule("*.a.example", "PUT", "", "")),
		"rules are removed":                        {before: []request{setCORS(all), setCORS()}, call: preflight("https://a.example", "PUT", ""), status: 403},
		"other properties keep the rules":          {before: []request{setCORS(all), {method: "PUT", blob: "/", query: "restype=service&" + comp + "properties", body: "<StorageServiceProperties></StorageServiceProperties>"}}, call: preflight("https://a.example", "PUT", ""), status: 200},
		"rules are returned":                       {before: []request{setCORS(some, all)}, call: request{method: "GET", blob: "/", query: "restype=service&" + comp + "properties"}, status: 200, has: []string{"<Cors>" + some + all + "</Cors>"}},
		"a read of an allowed origin":              {before: there(some), call: get("b", from("https://a.example")), status: 200, headers: headers{"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Expose-Headers": "ETag,x-ms-meta-color", "Access-Control-Allow-Credentials": "true", "Vary": "Origin"}},
		"an upload of an allowed origin":           {before: []request{setCORS(some)}, call: put("b", "x", from("https://b.example")), status: 201, headers: headers{"Access-Control-Allow-Origin": "https://b.example", "Access-Control-Expose-Headers": "ETag"}},
		"an error for an allowed origin":           {before: []request{setCORS(some)}, call: get("none", from("https://a.example")), status: 404, headers: headers{"Access-Control-Allow-Origin": "https://a.example"}},
		"a read of another origin":                 {before: there(some), call: get("b", from("https://c.example")), status: 200, headers: vary},
		"a read without an origin":                 {before: there(some), call: get("b", nil), status: 200, headers: vary},
		"a read without an origin, for all":        {before: there(all), call: get("b", nil), status: 200, headers: headers{"Access-Control-Allow-Origin": "*", "Vary": ""}},
		"a read for all":                           {before: there(all), call: get("b", from("https://c.example")), status: 200, headers: headers{"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "Access-Control-Expose-Headers": "*", "Vary": ""}},
		"a read without rules":                     {before: there(), call: get("b", from("https://a.example")), status: 200, headers: none},
		"a method that no rule has":                {before: there(some), call: request{method: "DELETE", blob: "b", headers: from("https://a.example")}, status: 202, headers: none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, difference := range row.try(t, shared(t, azurefake.Options{})) {
				t.Error(difference)
			}
		})
	}
}

// TestCORSRules sets rules that "Set Blob Service Properties" does not allow.
func TestCORSRules(t *testing.T) {
	t.Parallel()
	c := shared(t, azurefake.Options{}).converse(t)
	good := corsRule("*", "GET", "", "")
	list := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	for name, row := range map[string]struct {
		rules []string
		code  string
	}{
		"five rules":             {[]string{good, good, good, good, good}, ""},
		"six rules":              {[]string{good, good, good, good, good, good}, "InvalidXmlDocument"},
		"no element":             {[]string{"<CorsRule></CorsRule>"}, "MissingRequiredXmlNode"},
		"no maximum age":         {[]string{strings.Replace(good, "<MaxAgeInSeconds>200</MaxAgeInSeconds>", "", 1)}, "MissingRequiredXmlNode"},
		"a negative maximum age": {[]string{strings.Replace(good, "200", "-1", 1)}, "InvalidXmlNodeValue"},
		"no origin":              {[]string{corsRule("", "GET", "", "")}, "InvalidXmlNodeValue"},
		"an unknown method":      {[]string{corsRule("*", "FETCH", "", "")}, "InvalidXmlNodeValue"},
		"a method in lower case": {[]string{corsRule("*", "get", "", "")}, "InvalidXmlNodeValue"},
		"64 origins":             {[]string{corsRule(list(64, "https://a"), "GET", "", "")}, ""},
		"65 origins":             {[]string{corsRule(list(65, "https://a"), "GET", "", "")}, "InvalidXmlNodeValue"},
		"64 headers":             {[]string{corsRule("*", "GET", list(64, "a")+",x-*,y-*", "")}, ""},
		"65 headers":             {[]string{corsRule("*", "GET", list(65, "a"), "")}, "InvalidXmlNodeValue"},
		"three prefixes":         {[]string{corsRule("*", "GET", "", "x-*,y-*,z-*")}, "InvalidXmlNodeValue"},
		"a long header":          {[]string{corsRule("*", "GET", strings.Repeat("a", 257), "")}, "InvalidXmlNodeValue"},
		"more than 2 KiB":        {[]string{corsRule(list(40, "https://"+strings.Repeat("a", 60)), "GET", "", "")}, "InvalidXmlDocument"},
		"an unknown element":     {[]string{"<CorsRule><Colour></Colour></CorsRule>"}, "NotImplemented"},
	} {
		if code := c.send(t, setCORS(row.rules...)).headers.Get("X-Ms-Error-Code"); code != row.code {
			t.Errorf("%s: got %q, want %q", name, code, row.code)
		}
	}
}
