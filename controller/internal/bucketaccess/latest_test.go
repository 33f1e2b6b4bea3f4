// SPDX-License-Identifier: Apache-2.0

package bucketaccess

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/controller/internal/inuse"
)

// copies is a reader that has every claim and class in one version, or none of them.
type copies struct {
	client.Reader

	version string
	uid     types.UID
	going   bool
}

func (c copies) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if c.version == "" {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	obj.SetName(key.Name)
	obj.SetUID(c.uid)
	obj.SetResourceVersion(c.version)
	if c.going {
		now := metav1.Now()
		obj.SetDeletionTimestamp(&now)
	}
	return nil
}

func TestWhichCopyAHandOffBelieves(t *testing.T) {
	t.Parallel()
	const live = "99"
	key := client.ObjectKey{Namespace: "team", Name: "photos"}
	for name, tc := range map[string]struct {
		cached, marked string
		since          string
		want           string
		other, going   bool // the one of the cache is another claim of that name, or goes
	}{
		"the cache has one that is younger than the access":           {"11", "", "10", "11", false, false},
		"the one of the cache is as old as the access":                {"10", "", "10", live, false, false},
		"the one of the cache is older, and that of the mark younger": {"9", "12", "10", "12", false, false},
		"both are younger":                      {"11", "12", "10", "11", false, false},
		"both are older":                        {"8", "9", "10", live, false, false},
		"a version of more digits is younger":   {"10", "", "9", "10", false, false},
		"the cache has none, the mark is young": {"", "12", "10", live, false, false},
		"the mark is of one before it":          {"9", "12", "10", live, true, false},
		"it goes, which the mark does not say":  {"9", "12", "10", live, false, true},
		"it goes, in a young version":           {"11", "12", "10", "11", false, true},
		"neither has one":                       {"", "", "10", live, false, false},
		"nobody knows when the access counts":   {"11", "12", "", live, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			marks := &inuse.Marks{}
			marks.Add(&cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "films", ResourceVersion: "50"}})
			if tc.marked != "" {
				marks.Add(&cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "photos", ResourceVersion: tc.marked}})
			}
			cached := copies{version: tc.cached, going: tc.going}
			if tc.other {
				cached.uid = "other"
			}
			look := latest{Reader: copies{version: live}, cache: cached, marks: marks, since: tc.since}
			claim := &cosiapi.BucketClaim{}
			if err := look.Get(t.Context(), key, claim); err != nil || claim.Name != "photos" || claim.ResourceVersion != tc.want {
				t.Errorf("want version %s, got %s of %q: %v", tc.want, claim.ResourceVersion, claim.Name, err)
			}
			class := &cosiapi.BucketAccessClass{}
			if err := look.Get(t.Context(), client.ObjectKey{Name: "keys"}, class); err != nil || class.ResourceVersion != live {
				t.Errorf("the class is that of the cache: %s, %v", class.ResourceVersion, err)
			}
		})
	}
}
