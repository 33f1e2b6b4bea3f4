// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

func itoa(n int) string { return strconv.Itoa(n) }

// address splits a request into bucket and key, path-style or virtual-hosted-style.
func (a *API) address(r *http.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if b := a.hostBucket(r.Host); b != "" {
		return b, path
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

// localDomains are names of this machine that take a bucket in front, as the SDKs do by default.
var localDomains = []string{"s3.localhost", "localhost", "127.0.0.1.nip.io"}

func (a *API) hostBucket(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if slices.Contains(a.Domains, host) || slices.Contains(localDomains, host) {
		return ""
	}
	for _, domain := range slices.Concat(a.Domains, localDomains) {
		if b, ok := strings.CutSuffix(host, "."+domain); ok {
			return b
		}
	}
	return ""
}

// location is the URL of the object: in the form in which the request addressed it.
func (q *request) location() string {
	scheme, path := "http", sigv4.Encode(q.key, true)
	if q.r.TLS != nil {
		scheme = "https"
	}
	if q.hostBucket(q.r.Host) == "" {
		path = q.bucket + "/" + path
	}
	return scheme + "://" + q.r.Host + "/" + path
}

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	ipAddress  = regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)
)

// validBucketName applies "General purpose bucket naming rules" of the Amazon S3 User Guide.
func validBucketName(name string) bool {
	if !bucketName.MatchString(name) || ipAddress.MatchString(name) || strings.Contains(name, "..") ||
		strings.Contains(name, ".-") || strings.Contains(name, "-.") {
		return false
	}
	for _, prefix := range []string{"xn--", "sthree-", "amzn-s3-demo-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	for _, suffix := range []string{"-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3"} {
		if strings.HasSuffix(name, suffix) {
			return false
		}
	}
	return true
}
