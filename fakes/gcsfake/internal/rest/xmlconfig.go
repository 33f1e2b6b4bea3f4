// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
)

// xmlSetConfig changes one field of a bucket's configuration; null removes it.
func (c *Call) xmlSetConfig(w http.ResponseWriter, field string, value any) error {
	b, err := c.bucket("storage.buckets.update")
	if err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = c.api.store.UpdateBucket(b.Name, func(b *store.Bucket) error {
		if err := c.metaCondition(b.Metageneration-1, false); err != nil {
			return err
		}
		old := config(maps.Clone(b.Config))
		delete(b.Config, field) // an XML document replaces the whole
		if err := config(b.Config).merge(map[string]json.RawMessage{field: raw}); err != nil {
			return err
		}
		return c.checkChange(b, config(b.Config), old)
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return nil
}

// xmlConfig reads a field of a bucket's configuration into v, after asking for the permission to.
func (c *Call) xmlConfig(field string, v any) error {
	b, err := c.bucket("storage.buckets.get")
	if err != nil || b.Config[field] == nil {
		return err
	}
	return json.Unmarshal(b.Config[field], v)
}

var malformedXML = gcserr.New(http.StatusBadRequest, "invalid", "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema.")

func (c *Call) xmlPutVersioning(w http.ResponseWriter) error {
	var req struct {
		XMLName xml.Name `xml:"VersioningConfiguration"`
		Status  string
	}
	if err := c.readXML(&req); err != nil {
		return err
	}
	if req.Status != "Enabled" && req.Status != "Suspended" {
		return malformedXML
	}
	return c.xmlSetConfig(w, "versioning", map[string]bool{"enabled": req.Status == "Enabled"})
}

// xmlCORS is a CORS configuration ("Set bucket CORS").
type xmlCORS struct {
	XMLName xml.Name `xml:"CorsConfig"`
	Cors    []xmlCORSRule
}

type xmlCORSRule struct {
	Origins         []string `xml:"Origins>Origin"`
	Methods         []string `xml:"Methods>Method"`
	ResponseHeaders []string `xml:"ResponseHeaders>ResponseHeader"`
	MaxAgeSec       int64    `xml:",omitempty"`
}

// jsonCORS is a CORS configuration as the JSON API has it.
type jsonCORS struct {
	Origin         []string `json:"origin,omitempty"`
	Method         []string `json:"method,omitempty"`
	ResponseHeader []string `json:"responseHeader,omitempty"`
	MaxAgeSeconds  int64    `json:"maxAgeSeconds,omitempty"`
}

func (c *Call) xmlGetCORS(w http.ResponseWriter) error {
	var rules []jsonCORS
	if err := c.xmlConfig("cors", &rules); err != nil {
		return err
	}
	var out xmlCORS
	for _, r := range rules {
		out.Cors = append(out.Cors, xmlCORSRule{r.Origin, r.Method, r.ResponseHeader, r.MaxAgeSeconds})
	}
	return respondXML(w, out)
}

func (c *Call) xmlPutCORS(w http.ResponseWriter) error {
	var req xmlCORS
	if err := c.readXML(&req); err != nil {
		return err
	}
	rules := []jsonCORS{}
	for _, r := range req.Cors {
		rules = append(rules, jsonCORS{r.Origins, r.Methods, r.ResponseHeaders, r.MaxAgeSec})
	}
	return c.xmlSetConfig(w, "cors", rules)
}

// xmlLifecycle is a lifecycle configuration ("Set object lifecycle"). An action has exactly one of the elements.
type xmlLifecycle struct {
	XMLName xml.Name `xml:"LifecycleConfiguration"`
	Rule    []xmlRule
}

type xmlRule struct {
	Action struct {
		Delete          *struct{}
		Abort           *struct{} `xml:"AbortIncompleteMultipartUpload"`
		SetStorageClass *string
	}
	Condition xmlCondition
}

type xmlCondition struct {
	Age                     *int64   `json:"age,omitempty"`
	CreatedBefore           string   `xml:",omitempty" json:"createdBefore,omitempty"`
	IsLive                  *bool    `json:"isLive,omitempty"`
	NumNewerVersions        *int64   `json:"numNewerVersions,omitempty"`
	MatchesStorageClass     []string `json:"matchesStorageClass,omitempty"`
	MatchesPrefix           []string `json:"matchesPrefix,omitempty"`
	MatchesSuffix           []string `json:"matchesSuffix,omitempty"`
	DaysSinceNoncurrentTime *int64   `json:"daysSinceNoncurrentTime,omitempty"`
	NoncurrentTimeBefore    string   `xml:",omitempty" json:"noncurrentTimeBefore,omitempty"`
	DaysSinceCustomTime     *int64   `json:"daysSinceCustomTime,omitempty"`
	CustomTimeBefore        string   `xml:",omitempty" json:"customTimeBefore,omitempty"`
}

type jsonLifecycle struct {
	Rule []jsonRule `json:"rule"`
}

type jsonRule struct {
	Action struct {
		Type         string `json:"type"`
		StorageClass string `json:"storageClass,omitempty"`
	} `json:"action"`
	Condition xmlCondition `json:"condition"`
}

func (c *Call) xmlGetLifecycle(w http.ResponseWriter) error {
	var known jsonLifecycle
	if err := c.xmlConfig("lifecycle", &known); err != nil {
		return err
	}
	var out xmlLifecycle
	for _, r := range known.Rule {
		var rule xmlRule
		switch r.Action.Type {
		case "Delete":
			rule.Action.Delete = &struct{}{}
		case "AbortIncompleteMultipartUpload":
			rule.Action.Abort = &struct{}{}
		default:
			rule.Action.SetStorageClass = &r.Action.StorageClass
		}
		rule.Condition = r.Condition
		out.Rule = append(out.Rule, rule)
	}
	return respondXML(w, out)
}

func (c *Call) xmlPutLifecycle(w http.ResponseWriter) error {
	var req xmlLifecycle
	if err := c.readXML(&req); err != nil {
		return err
	}
	out := jsonLifecycle{Rule: []jsonRule{}}
	for _, r := range req.Rule {
		var rule jsonRule
		switch a := r.Action; {
		case a.Delete != nil && a.Abort == nil && a.SetStorageClass == nil:
			rule.Action.Type = "Delete"
		case a.Delete == nil && a.Abort != nil && a.SetStorageClass == nil:
			rule.Action.Type = "AbortIncompleteMultipartUpload"
		case a.Delete == nil && a.Abort == nil && a.SetStorageClass != nil:
			rule.Action.Type, rule.Action.StorageClass = "SetStorageClass", strings.TrimSpace(*a.SetStorageClass)
		default:
			return malformedXML
		}
		rule.Condition = r.Condition
		out.Rule = append(out.Rule, rule)
	}
	if len(out.Rule) == 0 { // an empty document removes the configuration
		return c.xmlSetConfig(w, "lifecycle", nil)
	}
	return c.xmlSetConfig(w, "lifecycle", out)
}
