// SPDX-License-Identifier: Apache-2.0

// Package notify implements the event notifications of S3: the configuration of a bucket and its validation, the
// messages, and their delivery to queues, webhooks and a callback. It follows "Amazon S3 Event Notifications" of the
// Amazon S3 User Guide. It does not depend on the store.
package notify

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Configuration is NotificationConfiguration. It has only queues as destinations: other elements are not supported.
type Configuration struct {
	XMLName xml.Name `xml:"NotificationConfiguration"`
	Queues  []Rule   `xml:"QueueConfiguration"`
}

// Rule is QueueConfiguration: the events and keys for which S3 sends messages to a queue.
type Rule struct {
	ID     string   `xml:"Id,omitempty"`
	Queue  string   `xml:"Queue"`
	Events []string `xml:"Event"`
	Filter *Filter  `xml:"Filter,omitempty"`
}

// Filter selects keys by prefix and suffix.
type Filter struct {
	Rules []FilterRule `xml:"S3Key>FilterRule"`
}

// FilterRule is a prefix or a suffix.
type FilterRule struct {
	Name  *string `xml:"Name"`
	Value *string `xml:"Value"`
}

// Names of the events that the fake sends.
const (
	CreatedPut      = "ObjectCreated:Put"
	CreatedPost     = "ObjectCreated:Post"
	CreatedCopy     = "ObjectCreated:Copy"
	CreatedComplete = "ObjectCreated:CompleteMultipartUpload"
	RemovedDelete   = "ObjectRemoved:Delete"
	RemovedMarker   = "ObjectRemoved:DeleteMarkerCreated"
	TaggingPut      = "ObjectTagging:Put"
	TaggingDelete   = "ObjectTagging:Delete"
	ACLPut          = "ObjectAcl:Put"
)

var sent = []string{CreatedPut, CreatedPost, CreatedCopy, CreatedComplete, RemovedDelete, RemovedMarker, TaggingPut, TaggingDelete, ACLPut}

// unserved are the other event types of S3 ("Supported event types for SQS, SNS, and Lambda"), whose causes the fake
// does not have.
var unserved = strings.Fields(`s3:ReducedRedundancyLostObject s3:ObjectRestore:* s3:ObjectRestore:Post s3:ObjectRestore:Completed s3:ObjectRestore:Delete
	s3:Replication:* s3:Replication:OperationFailedReplication s3:Replication:OperationMissedThreshold s3:Replication:OperationReplicatedAfterThreshold
	s3:Replication:OperationNotTracked s3:LifecycleExpiration:* s3:LifecycleExpiration:Delete s3:LifecycleExpiration:DeleteMarkerCreated
	s3:LifecycleTransition s3:IntelligentTiering`)

// covers reports whether an event type of a configuration, which can end in a wildcard, includes an event. There is no
// wildcard for ObjectAcl:Put.
func covers(pattern, name string) bool {
	if group, all := strings.CutSuffix(pattern, ":*"); all {
		before, _, _ := strings.Cut(name, ":")
		return group == "s3:"+before && name != ACLPut
	}
	return pattern == "s3:"+name
}

func invalid(name, value, format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusBadRequest, "InvalidArgument", format, args...).With("ArgumentName", name).With("ArgumentValue", value)
}

var errMalformed = awserr.New(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")

// maxRules is the maximum number of rules ("Amazon S3 endpoints and quotas", event notifications). The error of S3 is not
// documented.
const maxRules = 100

// Complete validates a configuration, except whether its destinations exist, and fills in missing IDs with newID. The
// names of filter rules become those that S3 returns.
func (c *Configuration) Complete(newID func() string) error {
	if len(c.Queues) > maxRules {
		return invalid("QueueConfiguration", strconv.Itoa(len(c.Queues)), "A bucket can have at most %d event notification configurations", maxRules)
	}
	for i := range c.Queues {
		r := &c.Queues[i]
		if len(r.Events) == 0 || len(r.Events) > len(sent)+len(unserved) || r.Queue == "" {
			return errMalformed
		}
		if err := r.completeFilter(); err != nil {
			return err
		}
		if err := checkEvents(r.Events); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i := range c.Queues {
		r := &c.Queues[i]
		if !queueARN(r.Queue) {
			return invalid("Queue", r.Queue, "The ARN could not be parsed")
		}
		if r.ID == "" {
			r.ID = newID()
		}
		if len(r.ID) > 255 {
			return invalid("Id", r.ID, "The ID must not exceed 255 characters")
		}
		if seen[r.ID] {
			return invalid("Id", r.ID, "Same ID used for multiple configurations. IDs must be unique")
		}
		seen[r.ID] = true
		for _, other := range c.Queues[:i] {
			if err := r.overlaps(other); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Rule) completeFilter() error {
	if r.Filter == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range r.Filter.Rules {
		rule := &r.Filter.Rules[i]
		if rule.Name == nil || rule.Value == nil {
			return errMalformed
		}
		name := map[string]string{"prefix": "Prefix", "suffix": "Suffix"}[strings.ToLower(*rule.Name)]
		switch {
		case name == "":
			return invalid("FilterRule.Name", *rule.Name, "filter rule name must be either prefix or suffix")
		case seen[name]:
			return invalid("FilterRule.Name", *rule.Name, "Cannot specify more than one %s rule in a filter.", strings.ToLower(name))
		case len(*rule.Value) > 1024:
			return invalid("FilterRule.Value", *rule.Value, "Size of filter rule value cannot exceed 1024 bytes in UTF-8 representation")
		}
		seen[name], rule.Name = true, &name
	}
	return nil
}

func checkEvents(events []string) error {
	for _, event := range events {
		if slices.Contains(unserved, event) {
			return awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The event %s is not supported by this fake.", event)
		}
		if !slices.ContainsFunc(sent, func(name string) bool { return covers(event, name) }) {
			return invalid("Event", event, "The event '%s' is not supported for notifications", event)
		}
	}
	return nil
}

// queueARN reports whether s has the form of a queue's ARN.
func queueARN(s string) bool {
	parts := strings.Split(s, ":")
	return len(parts) == 6 && parts[0] == "arn" && parts[2] == "sqs" && parts[1] != "" && parts[3] != "" && parts[4] != "" && parts[5] != ""
}

// regionOf returns the region in the ARN of a queue, or in the part of it before the name.
func regionOf(arn string) string { return strings.Split(arn, ":")[3] }

// CheckRegion rejects queues in other regions than that of the bucket.
func (c *Configuration) CheckRegion(region string) error {
	for _, arn := range c.destinations() {
		if regionOf(arn) != region {
			return invalid("Queue", arn, "The notification destination service region is not valid for the bucket location constraint")
		}
	}
	return nil
}

// filter returns the prefix and the suffix, both decoded: special characters in them are percent-encoded ("Configuring
// event notifications using object key name filtering").
func (r *Rule) filter() (prefix, suffix string) {
	if r.Filter == nil {
		return "", ""
	}
	for _, rule := range r.Filter.Rules {
		value := *rule.Value
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		if *rule.Name == "Prefix" {
			prefix = value
		} else {
			suffix = value
		}
	}
	return prefix, suffix
}

// common returns event types of two rules that can be the same event, or "".
func (r *Rule) common(other Rule) (one, two string) {
	for _, one := range other.Events {
		for _, two := range r.Events {
			if slices.ContainsFunc(sent, func(name string) bool { return covers(one, name) && covers(two, name) }) {
				return one, two
			}
		}
	}
	return "", ""
}

// overlaps returns S3's error if one event can match both rules.
func (r *Rule) overlaps(other Rule) error {
	one, two := r.common(other)
	prefix, suffix := r.filter()
	otherPrefix, otherSuffix := other.filter()
	prefixes := strings.HasPrefix(prefix, otherPrefix) || strings.HasPrefix(otherPrefix, prefix)
	suffixes := strings.HasSuffix(suffix, otherSuffix) || strings.HasSuffix(otherSuffix, suffix)
	switch {
	case one == "" || !prefixes || !suffixes:
		return nil
	case prefix+suffix+otherPrefix+otherSuffix == "":
		return invalid("Event", one+", "+two, "Configurations overlap. Configurations on the same bucket cannot share a common event type.")
	}
	return awserr.New(http.StatusBadRequest, "InvalidArgument",
		"Configuration is ambiguously defined. Cannot have overlapping suffixes in two rules if the prefixes are overlapping for the same event type.")
}

// matches reports whether the rule is for an event of a key.
func (r *Rule) matches(name, key string) bool {
	prefix, suffix := r.filter()
	return strings.HasPrefix(key, prefix) && strings.HasSuffix(key, suffix) &&
		slices.ContainsFunc(r.Events, func(pattern string) bool { return covers(pattern, name) })
}

// destinations returns the ARNs of all queues, each once, in the order of the configuration.
func (c *Configuration) destinations() []string {
	var out []string
	for _, r := range c.Queues {
		if !slices.Contains(out, r.Queue) {
			out = append(out, r.Queue)
		}
	}
	return out
}
