// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
)

// Event is a change of an object.
type Event struct {
	// Name is the type of the event without "s3:", for example ObjectCreated:Put.
	Name        string
	Bucket, Key string
	// VersionID is "" for the null version.
	VersionID string
	// ETag is without quotes. It is "" for a deleted version.
	ETag string
	// Size is the size of a created object in bytes, and 0 for other events.
	Size int64
	Time time.Time
	// Sequencer is greater for a later event of the same key, if compared as a string. Events of tags have none.
	Sequencer string
	// Principal is the ARN of the caller, or "" for an anonymous one.
	Principal string
}

// Origin is the part of a message that does not describe the object.
type Origin struct {
	Region, BucketARN string
	// Owner is the ID of the bucket's owner, and Caller is the caller's.
	Owner, Caller     string
	SourceIP          string
	RequestID, HostID string
}

const timeFormat = "2006-01-02T15:04:05.000Z"

type identity struct {
	PrincipalID string `json:"principalId"`
}

// record is one event of a message ("Event message structure").
type record struct {
	Version           string            `json:"eventVersion"`
	Source            string            `json:"eventSource"`
	Region            string            `json:"awsRegion"`
	Time              string            `json:"eventTime"`
	Name              string            `json:"eventName"`
	UserIdentity      identity          `json:"userIdentity"`
	RequestParameters map[string]string `json:"requestParameters"`
	ResponseElements  map[string]string `json:"responseElements"`
	S3                struct {
		SchemaVersion   string `json:"s3SchemaVersion"`
		ConfigurationID string `json:"configurationId"`
		Bucket          struct {
			Name  string   `json:"name"`
			Owner identity `json:"ownerIdentity"`
			ARN   string   `json:"arn"`
		} `json:"bucket"`
		Object object `json:"object"`
	} `json:"s3"`
}

type object struct {
	Key       string `json:"key"`
	Size      *int64 `json:"size,omitempty"`
	ETag      string `json:"eTag,omitempty"`
	VersionID string `json:"versionId,omitempty"`
	Sequencer string `json:"sequencer,omitempty"`
}

// message returns the message about an event for the rule with an ID.
func message(e Event, o Origin, rule string) []byte {
	r := record{
		Version: "2.1", Source: "aws:s3", Region: o.Region, Time: e.Time.UTC().Format(timeFormat), Name: e.Name, UserIdentity: identity{o.Caller},
		RequestParameters: map[string]string{"sourceIPAddress": o.SourceIP},
		ResponseElements:  map[string]string{"x-amz-request-id": o.RequestID, "x-amz-id-2": o.HostID},
	}
	if strings.HasPrefix(e.Name, "ObjectTagging:") {
		r.Version = "2.3"
	}
	r.S3.SchemaVersion, r.S3.ConfigurationID = "1.0", rule
	r.S3.Bucket.Name, r.S3.Bucket.Owner, r.S3.Bucket.ARN = e.Bucket, identity{o.Owner}, o.BucketARN
	r.S3.Object = object{Key: escape(e.Key), ETag: e.ETag, VersionID: e.VersionID, Sequencer: e.Sequencer}
	if strings.HasPrefix(e.Name, "ObjectCreated:") {
		r.S3.Object.Size = &e.Size
	}
	return encode(map[string][]record{"Records": {r}})
}

// escape encodes a key as S3 does in messages: as a query parameter, but with slashes.
func escape(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/") }

// testMessage returns the message that S3 sends when a configuration is stored.
func testMessage(bucket string, now time.Time, o Origin) []byte {
	return encode(struct {
		Service   string `json:"Service"`
		Event     string `json:"Event"`
		Time      string `json:"Time"`
		Bucket    string `json:"Bucket"`
		RequestID string `json:"RequestId"`
		HostID    string `json:"HostId"`
	}{"Amazon S3", "s3:TestEvent", now.UTC().Format(timeFormat), bucket, o.RequestID, o.HostID})
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil // v is one of the fixed types above
	}
	return raw
}
