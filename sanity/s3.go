// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"crypto/md5" //nolint:gosec // the S3 API requires Content-MD5
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// s3Prober uses the S3 REST API as described by the driver's response.
type s3Prober struct{ transport *transport }

// Try implements Prober.
func (p s3Prober) Try(ctx context.Context, attempt Attempt) (Outcome, error) {
	info := attempt.Info.GetS3()
	if info == nil {
		return Outcome{}, errors.New("the driver's response has no S3 bucket info")
	}
	base, err := url.Parse(info.GetEndpoint())
	if err != nil || base.Host == "" {
		return Outcome{}, fmt.Errorf("endpoint %q is not a URL", info.GetEndpoint())
	}
	virtual := info.GetAddressingStyle().GetStyle() == cosi.S3AddressingStyle_VIRTUAL
	c, err := xmlAPI(*base, info.GetBucketId(), virtual, attempt)
	if err != nil {
		return Outcome{}, err
	}
	request, err := c.request(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if keys := attempt.Credentials.GetS3(); keys != nil {
		signer := signature{accessKey: keys.GetAccessKeyId(), secretKey: keys.GetAccessSecretKey(), region: info.GetRegion()}
		signer.sign(request, c.body, time.Now())
	}
	outcome, err := p.transport.send(request, attempt.Credentials.GetCertificateAuthority())
	return listed(attempt.Action, outcome, err)
}

// xmlAPI creates a request for the S3 API, which the XML API of Google Cloud Storage shares.
func xmlAPI(base url.URL, bucket string, virtual bool, attempt Attempt) (call, error) {
	place := "/" + bucket
	if virtual {
		base.Host, place = bucket+"."+base.Host, ""
	}
	c := call{url: &base, header: http.Header{}}
	object := false
	query := url.Values{}
	switch attempt.Action {
	case PutObject:
		c.method, c.body, object = http.MethodPut, attempt.Body, true
	case GetObject:
		c.method, object = http.MethodGet, true
	case DeleteObject:
		c.method, object = http.MethodDelete, true
	case ListObjects:
		c.method = http.MethodGet
		query.Set("list-type", "2")
	case SetObjectTags:
		c.method, object, c.body = http.MethodPut, true, []byte(`<Tagging><TagSet><Tag><Key>cosi</Key><Value>sanity</Value></Tag></TagSet></Tagging>`)
		query.Set("tagging", "")
	case GetObjectTags:
		c.method, object = http.MethodGet, true
		query.Set("tagging", "")
	case GetBucketTags:
		c.method = http.MethodGet
		query.Set("tagging", "")
	case DeleteBucket:
		c.method = http.MethodDelete
	case SetBucketPolicy:
		c.method, c.body = http.MethodPut, harmlessPolicy(bucket)
		query.Set("policy", "")
	default:
		return call{}, unknownAction(attempt.Action)
	}
	c.url.Path = strings.TrimSuffix(c.url.Path, "/") + place + "/"
	if object {
		c.url.Path += attempt.Key
	}
	c.url.RawQuery = query.Encode()
	if len(c.body) > 0 && attempt.Action != PutObject {
		sum := md5.Sum(c.body) //nolint:gosec // see the import
		c.header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return c, nil
}

// harmlessPolicy returns a policy that denies everyone an action that no one uses.
func harmlessPolicy(bucket string) []byte {
	return fmt.Appendf(nil, `{"Version":"2012-10-17","Statement":[{"Sid":"cosisanity","Effect":"Deny","Principal":"*",`+
		`"Action":"s3:PutBucketWebsite","Resource":"arn:aws:s3:::%s"}]}`, bucket)
}

// listed parses the listing of ListObjects.
func listed(action Action, outcome Outcome, err error) (Outcome, error) {
	if err != nil || action != ListObjects || outcome.Verdict != Allowed {
		return outcome, err
	}
	var listing struct {
		Contents []struct {
			Key string `xml:"Key"`
		} `xml:"Contents"`
		Blobs struct {
			Blob []struct {
				Name string `xml:"Name"`
			} `xml:"Blob"`
		} `xml:"Blobs"`
	}
	if err := xml.Unmarshal(outcome.Body, &listing); err != nil {
		return Outcome{}, fmt.Errorf("the store's list of objects is not XML: %w", err)
	}
	for _, object := range listing.Contents {
		outcome.Keys = append(outcome.Keys, object.Key)
	}
	for _, blob := range listing.Blobs.Blob {
		outcome.Keys = append(outcome.Keys, blob.Name)
	}
	return outcome, nil
}
