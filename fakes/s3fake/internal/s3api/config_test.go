// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// TestUnreadableDocuments reads documents in a data directory that this version of the fake would not write.
func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	all := accessBlock{BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true}
	for name, test := range map[string]struct {
		document string
		want     accessBlock
	}{
		"no XML":                   {"none", all},
		"an unknown root element":  {"<Other/>", all},
		"a setting that is no bit": {"<PublicAccessBlockConfiguration><BlockPublicAcls>perhaps</BlockPublicAcls></PublicAccessBlockConfiguration>", all},
		"no settings":              {"<PublicAccessBlockConfiguration/>", accessBlock{}},
	} {
		got := accessBlockOf(store.Bucket{Config: map[string][]byte{configAccessBlock: []byte(test.document)}})
		got.XMLName = xml.Name{}
		if got != test.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	const unspecified = "<ServerSideEncryptionConfiguration><Rule><BucketKeyEnabled>true</BucketKeyEnabled></Rule></ServerSideEncryptionConfiguration>"
	q := &request{state: store.Bucket{Config: map[string][]byte{configEncryption: []byte(unspecified)}}}
	if got := q.bucketEncryption(); got != (store.Encryption{Algorithm: "AES256"}) {
		t.Errorf("an encryption without an algorithm: got %+v", got)
	}
}
