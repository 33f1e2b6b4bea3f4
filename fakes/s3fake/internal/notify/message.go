// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// Event is s3fake.Event, which describes the fields.
type Event struct {
	Name, Bucket, Key, VersionID, ETag string
	Size                               int64
	Time                               time.Time
	Sequencer, Principal               string
}

// Origin is the part of a message that does not describe the object.
type Origin struct {
	Region, BucketARN string
	// Owner is the ID of the bucket's owner, and Caller is the caller's.
	Owner, Caller     string
	SourceIP          string
	RequestID, HostID string
	// Trace is the header X-Amzn-Trace-Id, which queues return as the attribute AWSTraceHeader.
	Trace string
}

const timeFormat = "2006-01-02T15:04:05.000Z"

// message returns the message about an event for the rule with an ID ("Event message structure").
func message(e Event, o Origin, rule string) []byte {
	version := "2.1"
	if !Sequenced(e.Name) {
		version = "2.3"
	}
	object := map[string]any{"key": escape(e.Key)}
	for name, v := range map[string]string{"eTag": e.ETag, "versionId": e.VersionID, "sequencer": e.Sequencer} {
		if v != "" {
			object[name] = v
		}
	}
	if strings.HasPrefix(e.Name, "ObjectCreated:") {
		object["size"] = e.Size
	}
	return encode(map[string]any{"Records": []any{map[string]any{
		"eventVersion": version, "eventSource": "aws:s3", "awsRegion": o.Region, "eventTime": e.Time.UTC().Format(timeFormat), "eventName": e.Name,
		"userIdentity":      map[string]any{"principalId": o.Caller},
		"requestParameters": map[string]any{"sourceIPAddress": o.SourceIP},
		"responseElements":  map[string]any{"x-amz-request-id": o.RequestID, "x-amz-id-2": o.HostID},
		"s3": map[string]any{
			"s3SchemaVersion": "1.0", "configurationId": rule, "object": object,
			"bucket": map[string]any{"name": e.Bucket, "ownerIdentity": map[string]any{"principalId": o.Owner}, "arn": o.BucketARN},
		},
	}}})
}

// Sequenced reports whether an event has a sequencer: it is about the object and not about its tags or its ACL.
func Sequenced(name string) bool {
	return name != ACLPut && !strings.HasPrefix(name, "ObjectTagging:")
}

// escape encodes a key as S3 does in messages: as a query parameter, but with slashes.
func escape(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/") }

// testMessage returns the message that S3 sends when a configuration is stored.
func testMessage(bucket string, now time.Time, o Origin) []byte {
	return encode(map[string]any{
		"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": now.UTC().Format(timeFormat), "Bucket": bucket, "RequestId": o.RequestID, "HostId": o.HostID,
	})
}

func encode(v map[string]any) []byte {
	raw, _ := json.Marshal(v) // strings and numbers only
	return raw
}
