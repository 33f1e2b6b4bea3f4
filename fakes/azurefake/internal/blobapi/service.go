// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// serviceXML contains the properties of the Blob service. A root element that a request omits is not changed.
type serviceXML struct {
	XMLName       xml.Name      `xml:"StorageServiceProperties"`
	Logging       *loggingXML   `xml:",omitempty"`
	HourMetrics   *metricsXML   `xml:",omitempty"`
	MinuteMetrics *metricsXML   `xml:",omitempty"`
	CORS          *corsXML      `xml:"Cors"`
	Version       string        `xml:"DefaultServiceVersion,omitempty"`
	Deletion      *retentionXML `xml:"DeleteRetentionPolicy"`
	Website       *websiteXML   `xml:"StaticWebsite"`
	Unknown       []elementXML  `xml:",any"`
}

type retentionXML struct {
	Enabled *bool
	Days    *int `xml:",omitempty"`
}

type loggingXML struct {
	Version         string
	Delete          *bool
	Read            *bool
	Write           *bool
	RetentionPolicy *retentionXML
}

type metricsXML struct {
	Version         string
	Enabled         *bool
	IncludeAPIs     *bool `xml:",omitempty"`
	RetentionPolicy *retentionXML
}

type corsXML struct {
	Rules []corsRuleXML `xml:"CorsRule"`
}

type websiteXML struct {
	Enabled *bool
	Others  []elementXML `xml:",any"`
}

// elementXML is an element of which only the name matters.
type elementXML struct{ XMLName xml.Name }

// newService are the properties of a new account, of which "Get Blob Service Properties" shows the form.
const newService = `<StorageServiceProperties>
<Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>
<HourMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics>
<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics>
<Cors></Cors>
<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>
<StaticWebsite><Enabled>false</Enabled></StaticWebsite>
</StorageServiceProperties>`

// storedService reads the properties of an account.
func storedService(a access.Account) (serviceXML, error) {
	var out serviceXML
	text := cmp.Or(a.Service, newService)
	if err := xml.Unmarshal([]byte(text), &out); err != nil {
		return out, fmt.Errorf("read the properties of account %s: %w", a.Name, err)
	}
	return out, nil
}

func (c *Call) serviceProperties(w http.ResponseWriter) error {
	account, _ := c.api.Directory.Account(c.Target.Account)
	found, err := storedService(account)
	if err != nil {
		return err
	}
	return writeXML(w, http.StatusOK, found)
}

func (c *Call) setServiceProperties(w http.ResponseWriter) error {
	var asked serviceXML
	if err := c.readXML(&asked); err != nil {
		return err
	}
	if err := asked.check(); err != nil {
		return err
	}
	var failed error
	_, err := c.api.Directory.ChangeAccount(c.Target.Account, func(a *access.Account) {
		next, err := storedService(*a)
		if err == nil {
			next.merge(asked)
			a.Version = next.Version
			var raw []byte
			raw, err = xml.Marshal(next)
			a.Service = string(raw)
		}
		failed = err
	})
	return respond(w, http.StatusAccepted, cmp.Or(err, failed))
}

func (s *serviceXML) merge(asked serviceXML) {
	s.Logging = cmp.Or(asked.Logging, s.Logging)
	s.HourMetrics = cmp.Or(asked.HourMetrics, s.HourMetrics)
	s.MinuteMetrics = cmp.Or(asked.MinuteMetrics, s.MinuteMetrics)
	s.CORS = cmp.Or(asked.CORS, s.CORS)
	s.Deletion = cmp.Or(asked.Deletion, s.Deletion)
	s.Version = cmp.Or(asked.Version, s.Version)
}

var (
	missingNode     = azerr.New(http.StatusBadRequest, "MissingRequiredXmlNode", "A required XML node was not specified in the request body.")
	unsupportedNode = azerr.New(http.StatusBadRequest, "UnsupportedXmlNode", "One of the XML nodes specified in the request body is not supported.")
)

// check applies "Set Blob Service Properties", and rejects settings that would require features that the fake does
// not implement.
func (s serviceXML) check() error {
	switch {
	case len(s.Unknown) > 0:
		return unsupportedNode
	case s.Website != nil && s.Website.Enabled == nil, s.Deletion != nil && s.Deletion.Enabled == nil:
		return missingNode
	case s.Website != nil && *s.Website.Enabled:
		return azerr.NotServed("static websites: StaticWebsite")
	case s.Version != "" && !isVersion(s.Version):
		return invalidNode
	}
	var deletion error
	if s.Deletion != nil {
		deletion = s.Deletion.check()
	}
	return cmp.Or(s.Logging.check(), s.CORS.check(), deletion, s.HourMetrics.check(), s.MinuteMetrics.check())
}

func (l *loggingXML) check() error {
	if l == nil {
		return nil
	}
	if l.Version == "" || l.Delete == nil || l.Read == nil || l.Write == nil {
		return missingNode
	}
	return l.RetentionPolicy.check()
}

func (m *metricsXML) check() error {
	if m == nil {
		return nil
	}
	if m.Version == "" || m.Enabled == nil || *m.Enabled && m.IncludeAPIs == nil {
		return missingNode
	}
	return m.RetentionPolicy.check()
}

func (r *retentionXML) check() error {
	switch {
	case r == nil || r.Enabled == nil:
		return missingNode
	case *r.Enabled && r.Days == nil, r.Days != nil && (*r.Days < 1 || *r.Days > 365):
		return azerr.InvalidXML // azblob's TestAccountDeleteRetentionPolicyDaysOmitted records this
	}
	return nil
}

// serviceStats implements Get Blob Service Stats, which only the secondary location supports.
func (c *Call) serviceStats(w http.ResponseWriter) error {
	if !c.secondary {
		return azerr.InvalidQueryValue
	}
	var doc struct {
		XMLName xml.Name `xml:"StorageServiceStats"`
		Geo     struct {
			Status       string
			LastSyncTime string
		} `xml:"GeoReplication"`
	}
	// There is only one copy of everything, so replication is never behind.
	doc.Geo.Status, doc.Geo.LastSyncTime = "live", httpTime(c.api.Now())
	return writeXML(w, http.StatusOK, doc)
}
