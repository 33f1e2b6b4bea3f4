// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// withState returns a page with a cached state, which needs no cluster.
func withState(t *testing.T, found state) *Page {
	t.Helper()
	p := NewPage(PageOptions{Namespace: "app"})
	p.cluster.last, p.cluster.next = found, time.Now().Add(time.Hour)
	return p
}

// hostile is text that attempts script and terminal injection.
const hostile = `<script>alert("x")</script>` + "\x1b[2J"

func someState() state {
	key := client.ObjectKey{Namespace: "app", Name: "photos"}
	created := metav1.NewTime(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC))
	claim := &cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "photos", CreationTimestamp: created}}
	claim.Status.BoundBucketName = "bc-1"
	claim.Status.Conditions = []metav1.Condition{
		{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionTrue, Reason: "Provisioned", LastTransitionTime: metav1.NewTime(created.Add(time.Hour))},
	}
	bucket := &cosiapi.Bucket{ObjectMeta: metav1.ObjectMeta{Name: "bc-1", CreationTimestamp: created}}
	bucket.Spec.DriverName = "s3.example.com"
	bucket.Status.BucketID, bucket.Status.BucketInfo = "photos-1", map[string]string{"AWS_ENDPOINT_URL": "https://s3.example.com"}
	access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: "writer", UID: "1", CreationTimestamp: created}}
	access.Spec.BucketClaims = []cosiapi.BucketClaimAccess{{BucketClaimName: "photos", AccessSecretName: "keys"}}
	access.Status.Conditions = []metav1.Condition{{Type: cosiapi.ConditionProvisioned, Status: metav1.ConditionFalse, Reason: "Refused", Message: hostile}}
	return state{
		objects: &Objects{
			Claims:   map[client.ObjectKey]*cosiapi.BucketClaim{key: claim},
			Accesses: map[client.ObjectKey]*cosiapi.BucketAccess{{Namespace: "app", Name: "writer"}: access},
			Buckets:  map[string]*cosiapi.Bucket{"bc-1": bucket},
			Secrets:  map[client.ObjectKey]*Secret{{Namespace: "app", Name: "keys"}: {Keys: []string{"AWS_ACCESS_KEY_ID"}, Owner: types.UID("1"), Created: created}},
			Unread:   map[string]string{}, Now: created.Time,
		},
		events: []Event{{
			Of: Selection{Kind: "BucketAccess", Namespace: "app", Name: "writer"}, Time: created.Time, Warning: true,
			Reason: "FailedGrantAccess", Note: hostile, Times: 3,
		}},
	}
}

func TestWhoIsServed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		method, host, query, cookie string
		want                        int
	}{
		"without the token":                     {want: http.StatusUnauthorized},
		"with a wrong token":                    {query: "?token=wrong", want: http.StatusUnauthorized},
		"with an empty cookie":                  {cookie: " ", want: http.StatusUnauthorized},
		"with the token in the address":         {query: "?token=TOKEN", want: http.StatusSeeOther},
		"with the token in the cookie":          {cookie: "TOKEN", want: http.StatusOK},
		"at the other loopback address":         {cookie: "TOKEN", host: "[::1]:80", want: http.StatusOK},
		"by a name that leads here":             {cookie: "TOKEN", host: "evil.example.com", want: http.StatusMisdirectedRequest},
		"by a name that is taken for this host": {cookie: "TOKEN", host: "localhost", want: http.StatusMisdirectedRequest},
		"by an address of another host":         {cookie: "TOKEN", host: "192.0.2.1", want: http.StatusMisdirectedRequest},
		"a request that would change something": {cookie: "TOKEN", method: http.MethodPost, want: http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := withState(t, someState())
			method, host := row.method, row.host
			if method == "" {
				method = http.MethodGet
			}
			if host == "" {
				host = "127.0.0.1:4711"
			}
			request := httptest.NewRequestWithContext(t.Context(), method, "/"+strings.ReplaceAll(row.query, "TOKEN", p.token), http.NoBody)
			request.Host = host
			request.AddCookie(&http.Cookie{Name: cookieOf(host), Value: "of-another-page-on-this-machine"})
			if row.cookie != "" {
				request.AddCookie(&http.Cookie{Name: cookieOf(host), Value: strings.ReplaceAll(row.cookie, "TOKEN", p.token)})
			}
			response := httptest.NewRecorder()
			p.ServeHTTP(response, request)
			if response.Code != row.want {
				t.Fatalf("got %d, want %d: %s", response.Code, row.want, response.Body)
			}
			if policy := response.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
				t.Errorf("the policy is %q", policy)
			}
			if text := response.Body.String() + response.Header().Get("Location"); strings.Contains(text, p.token) {
				t.Errorf("the token is in the answer:\n%s", text)
			}
		})
	}
}

// get returns the page at a path for a client with the token.
func get(t *testing.T, p *Page, query string) string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+query, http.NoBody)
	request.Host = "127.0.0.1"
	request.AddCookie(&http.Cookie{Name: cookieOf(request.Host), Value: p.token})
	response := httptest.NewRecorder()
	p.ServeHTTP(response, request)
	if response.Code != http.StatusOK {
		t.Fatalf("got %d: %s", response.Code, response.Body)
	}
	return response.Body.String()
}

func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		state state
		query string
		want  []string
		not   []string
	}{
		"everything, with hostile text escaped": {
			state: someState(),
			want:  []string{"namespace app", "1 provisioned", "1 failed", "photos", "bc-1", "s3.example.com", "https://s3.example.com", "writer", "keys", "FailedGrantAccess ×3", "&lt;script&gt;", `href="/?select=BucketClaim%2Fapp%2Fphotos"`},
			not:   []string{"<script>alert", "\x1b", "Conditions"},
		},
		"the selected claim with its conditions, and its times by the objects": {
			state: someState(), query: "?select=BucketClaim/app/photos",
			want: []string{"Conditions", "Timeline", "in whole seconds", "Provisioned=True", `aria-current="true"`, "Events of this BucketClaim"},
			not:  []string{"FailedGrantAccess"},
		},
		"the names of a Secret's keys": {
			state: someState(), query: "?select=Secret/app/keys",
			want: []string{"AWS_ACCESS_KEY_ID"}, not: []string{"Show the objects"},
		},
		"no details of a missing object": {
			state: someState(), query: "?select=Secret/other/keys", not: []string{"Conditions", "Timeline"},
		},
		"why nothing can be read": {
			state: state{err: http.ErrHandlerTimeout}, want: []string{http.ErrHandlerTimeout.Error()}, not: []string{"There are no"},
		},
		"that there is nothing": {
			state: state{objects: &Objects{}}, want: []string{"There are no BucketClaims or BucketAccesses."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := get(t, withState(t, row.state), row.query)
			for _, want := range row.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing", want)
				}
			}
			for _, not := range row.not {
				if strings.Contains(text, not) {
					t.Errorf("%q is there", not)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

func TestMoreTreesThanFitLeaveTheSelectedOne(t *testing.T) {
	t.Parallel()
	roots := make([]*Node, mostTrees+10)
	for i := range roots {
		roots[i] = &Node{Kind: KindClaim, Name: string(rune('a' + i))}
	}
	selected := roots[len(roots)-1]
	shown := shownOf(roots, selected)
	if len(shown) != mostTrees || shown[mostTrees-1] != selected {
		t.Errorf("%d are shown, the last is %v", len(shown), shown[len(shown)-1])
	}
	if roots[mostTrees-1] == selected {
		t.Error("the trees that were given have changed")
	}
}

func TestNoTwoBoxesOverlap(t *testing.T) {
	t.Parallel()
	leaf := func(name string) *Node { return &Node{Kind: "Secret", Name: name} }
	branch := &Node{Kind: "BucketAccess", Name: "b", Children: []*Node{leaf("c"), leaf("d")}}
	m := layout([]*Node{{Kind: "BucketClaim", Name: "a", Children: []*Node{branch, leaf("e")}}, leaf("f")}, Selection{})
	if len(m.Boxes) != 6 || len(m.Lines) != 4 {
		t.Fatalf("%d boxes and %d lines, want 6 and 4", len(m.Boxes), len(m.Lines))
	}
	for i, a := range m.Boxes {
		if a.X+a.Width > m.Width || a.Y+a.Height > m.Height {
			t.Errorf("%s is outside", a.Node.Name)
		}
		for _, b := range m.Boxes[i+1:] {
			if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
				t.Errorf("%s overlaps %s", a.Node.Name, b.Node.Name)
			}
		}
	}
}

func TestAPauseIsLeftOut(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	timeline := draw([]bar{
		{object: "BucketClaim a", name: "reconcile", kind: "reconcile", begin: at(0), end: at(100)},
		{object: "BucketClaim a", name: "bind", kind: "step", begin: at(50), end: at(60)},
		{object: "BucketClaim a", name: "reconcile", kind: "reconcile", begin: at(60_000), end: at(60_100), failed: "no"},
	}, true)
	if len(timeline.Rows) != 3 || len(timeline.Pauses) != 1 {
		t.Fatalf("%d rows and %d pauses, want 3 and 1", len(timeline.Rows), len(timeline.Pauses))
	}
	if got := timeline.Pauses[0].Took; got != "59.9 s" {
		t.Errorf("the pause took %s", got)
	}
	first, last := timeline.Rows[0], timeline.Rows[2]
	if first.Width != last.Width || first.Width <= barsWidth/3 {
		t.Errorf("what took the same time is %d and %d wide", first.Width, last.Width)
	}
	if end := last.X + last.Width; end > timeline.Left+barsWidth {
		t.Errorf("the last bar ends at %d, outside", end)
	}
	if draw(nil, true) != nil {
		t.Error("there is a timeline of nothing")
	}
}

func TestASelectionIsItsAddress(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Selection{
		"with a namespace":    {Kind: "BucketClaim", Namespace: "a", Name: "b"},
		"without a namespace": {Kind: "Bucket", Name: "b"},
		"with the objects":    {Kind: "Secret", Namespace: "a", Name: "b", Objects: true},
		"an endpoint":         {Kind: "Store", Name: "https://s3.example.com/a?b&c"},
		"none":                {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, err := url.Parse(s.Address())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s, selectionOf(address.Query())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPageIsServedOnThisMachineAlone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		address string
		refused bool
	}{
		"a loopback address": {address: "127.0.0.1:0"},
		"every address":      {address: ":0", refused: true},
		"every address of 4": {address: "0.0.0.0:0", refused: true},
		"a name":             {address: "localhost:0", refused: true},
		"no port":            {address: "127.0.0.1", refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := Listen(t.Context(), row.address)
			if (err != nil) != row.refused {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				_ = listener.Close()
			}
		})
	}
	address := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	if got := NewPage(PageOptions{}).URL(address); !strings.HasPrefix(got, "http://127.0.0.1:80/?token=") {
		t.Errorf("the address is %s", got)
	}
}

func TestEventsOfAnObject(t *testing.T) {
	t.Parallel()
	events := make([]Event, mostEvents+5)
	for i := range events {
		events[i] = Event{Of: Selection{Kind: "Bucket", Name: "a"}, Reason: corev1.EventTypeNormal}
	}
	if got := len(eventsOf(events, nil)); got != mostEvents {
		t.Errorf("%d are shown, want %d", got, mostEvents)
	}
	if got := len(eventsOf(events, &Node{Kind: "Bucket", Name: "b"})); got != 0 {
		t.Errorf("%d of another object are shown", got)
	}
}

func TestNobodyWritesAnEventOfTheirOwn(t *testing.T) {
	t.Parallel()
	found := someState()
	for _, access := range found.objects.Accesses { // names of missing claims may contain anything
		access.Spec.BucketClaims[0].BucketClaimName = "a\revent: x\r\r"
	}
	text := message(withState(t, found).content(t.Context(), Selection{}))
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n") {
		if !strings.HasPrefix(line, "data: ") || strings.Contains(line, "\r") {
			t.Errorf("the event has the line %q", line)
		}
	}
}

func TestWhenAnEventWas(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	micro := func(after time.Duration) metav1.MicroTime { return metav1.NewMicroTime(at.Add(after)) }
	for name, row := range map[string]struct {
		event eventsv1.Event
		want  time.Duration
	}{
		"the time that its writer set": {event: eventsv1.Event{EventTime: micro(time.Millisecond)}, want: time.Millisecond},
		"when the last of a series was": {
			event: eventsv1.Event{EventTime: micro(0), Series: &eventsv1.EventSeries{Count: 2, LastObservedTime: micro(time.Minute)}, ObjectMeta: metav1.ObjectMeta{
				ManagedFields: []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(at.Add(time.Minute)))}},
			}},
			want: time.Minute,
		},
		"when it was made, if its writer's clock is ahead":     {event: eventsv1.Event{EventTime: micro(time.Hour)}},
		"when the older kind was made, if that clock is ahead": {event: eventsv1.Event{DeprecatedLastTimestamp: metav1.NewTime(at.Add(time.Hour))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.event.CreationTimestamp = metav1.NewTime(at)
			if got := eventOf(&row.event).Time.Sub(at); got != row.want {
				t.Errorf("it is %s after its making, want %s", got, row.want)
			}
		})
	}
}

func TestABoxHasItsOwnID(t *testing.T) {
	t.Parallel()
	driver := func() []*Node { return []*Node{{Kind: KindDriver, Name: "s3.example.com"}} }
	m := layout([]*Node{{Kind: KindBucket, Name: "a", Children: driver()}, {Kind: KindBucket, Name: "b", Children: driver()}}, Selection{})
	var got []string
	for _, box := range m.Boxes {
		got = append(got, box.ID)
	}
	want := []string{"Bucket//a", "Driver//s3.example.com", "Bucket//b", "2:Driver//s3.example.com"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
