// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// recorded keeps the Events that reach the API machinery's recorder.
type recorded struct {
	object runtime.Object
	note   string
}

func (r *recorded) Eventf(regarding, _ runtime.Object, _, _, _, note string, args ...any) {
	r.object, r.note = regarding, fmt.Sprintf(note, args...)
}

func TestWarnOmitsTheResourceVersion(t *testing.T) {
	t.Parallel()
	got := &recorded{}
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", ResourceVersion: "7"}}
	reconciler.EventRecorder{Events: got}.Warn(object, reconciler.FailedGrantAccess, "GrantAccess", "100% of it failed")
	accessor, err := meta.Accessor(got.object)
	if err != nil {
		t.Fatal(err)
	}
	if accessor.GetResourceVersion() != "" || accessor.GetName() != "a" || accessor.GetUID() != "u" {
		t.Errorf("the Event regards %+v", got.object)
	}
	if object.ResourceVersion != "7" {
		t.Error("the caller's object was changed")
	}
	if got.note != "100% of it failed" {
		t.Errorf("note: %q", got.note)
	}
}

func TestWarnCutsLongNotes(t *testing.T) {
	t.Parallel()
	for _, note := range []string{strings.Repeat("é", 2000), strings.Repeat("x", 2000), strings.Repeat("x", 1020) + "ééé"} {
		got := &recorded{}
		reconciler.EventRecorder{Events: got}.Warn(&corev1.Secret{}, reconciler.FailedGrantAccess, "GrantAccess", note)
		if len(got.note) > 1024 || len(got.note) < 1000 || !utf8.ValidString(got.note) || !strings.HasSuffix(got.note, "...") {
			t.Errorf("note of %d bytes, valid %v", len(got.note), utf8.ValidString(got.note))
		}
	}
}

func TestRecorderWithoutManagerDropsEvents(t *testing.T) {
	t.Parallel()
	reconciler.EventRecorder{}.Inform(&corev1.Secret{}, reconciler.WaitingForBucket, "GrantAccess", "x")
}
