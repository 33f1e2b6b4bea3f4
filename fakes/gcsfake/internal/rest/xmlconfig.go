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
		if err := c.condition("ifMetageneration", b.Metageneration-1, false); err != nil {
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
	return respondEmpty(w, http.StatusOK)
}

// readConfig reads a field of a bucket's configuration into v.
func readConfig(b *store.Bucket, field string, v any) error {
	if b.Config[field] == nil {
		return nil
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

// xmlCORS is a CORS configuration ("Set bucket CORS"), with the names of both APIs.
type xmlCORS struct {
	XMLName xml.Name `xml:"CorsConfig"`
	Cors    []struct {
		Origin         []string `json:"origin,omitempty"         xml:"Origins>Origin"`
		Method         []string `json:"method,omitempty"         xml:"Methods>Method"`
		ResponseHeader []string `json:"responseHeader,omitempty" xml:"ResponseHeaders>ResponseHeader"`
		MaxAgeSeconds  int64    `json:"maxAgeSeconds,omitempty"  xml:"MaxAgeSec,omitempty"`
	}
}

func (*Call) xmlGetCORS(b *store.Bucket) (any, error) {
	var out xmlCORS
	err := readConfig(b, "cors", &out.Cors)
	return out, err
}

func (c *Call) xmlPutCORS(w http.ResponseWriter) error {
	var req xmlCORS
	if err := c.readXML(&req); err != nil {
		return err
	}
	return c.xmlSetConfig(w, "cors", req.Cors)
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

func (*Call) xmlGetLifecycle(b *store.Bucket) (any, error) {
	var known jsonLifecycle
	if err := readConfig(b, "lifecycle", &known); err != nil {
		return nil, err
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
	return out, nil
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
