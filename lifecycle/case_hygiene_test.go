// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// peculiar is text with a different representation in each encoding.
const peculiar = "Canary/+=&\"<\\> %é"

// TestNoCredentialOutsideItsSecret uses a driver that leaks: its responses violate the contract, and its
// errors contain credentials that it issued earlier.
func TestNoCredentialOutsideItsSecret(t *testing.T) {
	t.Parallel()
	covers(t, "no-credential-leaks")
	bothWays(t, setup{traced: true}, func(t *testing.T, o setup) {
		w := pair(t, o, multiBucket)
		// One secret is in a valid response and one in a response that violates the contract. They are unique
		// to this world because the search covers the whole API server. The second one is in a field that
		// must not contain a secret.
		canary, badCanary := w.namespace+peculiar, w.namespace+"-in-a-bad-response"
		password, misplaced := w.namespace+"-in-an-endpoint", w.namespace+"-in-another-field"
		access := w.granted("app", "keys", "photos", "films")
		first, ok := w.driver.Calls(memdriver.GrantAccess)[0].Response.(*cosi.DriverGrantBucketAccessResponse)
		if !ok {
			t.Fatal("the grant has no response")
		}
		given := first.GetCredentials().GetS3().GetAccessSecretKey()
		granted := proto.CloneOf(first)
		granted.Credentials.S3.AccessSecretKey = canary
		asked := 0
		grant := func(f memdriver.Fault, again func()) {
			t.Helper()
			asked++
			f.RPC = memdriver.GrantAccess
			w.driver.Script(f)
			again()
			w.eventually("access is granted again", func(context.Context) error {
				if n := len(w.driver.Calls(memdriver.GrantAccess)); n != asked+1 {
					return fmt.Errorf("%d calls, want %d", n, asked+1)
				}
				return nil
			})
		}
		grant(memdriver.Fault{Answer: granted}, w.reconfigure)
		bad := proto.CloneOf(first)
		bad.Buckets[0].BucketInfo.S3.Endpoint = "https://user:" + password + "@host"
		bad.Credentials.S3 = &cosi.S3CredentialInfo{AccessKeyId: misplaced, AccessSecretKey: badCanary}
		grant(memdriver.Fault{Answer: bad}, w.reconfigure)
		w.condition(access, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.DriverResponseInvalid)
		w.untilEvent(w.namespace, access, reconciler.FailedGrantAccess)
		grant(saying("once", given, canary, badCanary), w.reconfigure)
		w.redacted(access, cosiapi.ConditionProvisionFailed, "once")
		// Another user cannot read them either.
		toAnother := func(secrets ...string) {
			elsewhere := saying("to another", secrets...)
			elsewhere.RPC, elsewhere.Times = memdriver.GenerateAccessID, memdriver.Always
			mend := w.driver.Script(elsewhere)
			other := w.access("other", "keys", "photos")
			w.create(other)
			w.redacted(other, cosiapi.ConditionProvisionFailed, "to another")
			w.untilEvent(w.namespace, other, reconciler.FailedGrantAccess)
			w.delete(other)
			w.gone(other)
			mend()
		}
		toAnother(given, canary, badCanary)
		w.stop(theSidecar)
		grant(saying("again", canary), func() { w.runSidecar() }) // the Secrets contain the values, so this covers messages about the own account
		w.redacted(access, cosiapi.ConditionProvisionFailed, "again")
		w.clean(given, canary, badCanary, password, misplaced)
		revoke := saying("at the end", canary)
		revoke.RPC = memdriver.RevokeAccess
		w.driver.Script(revoke)
		w.delete(access)
		w.redacted(access, cosiapi.ConditionDeprovisionFailed, "at the end")
		w.untilEvent(w.namespace, access, reconciler.FailedRevokeAccess)
		w.clean(given, canary, badCanary, password, misplaced)
		w.reconfigure()
		w.gone(access)
		w.leak()
	})
}

// saying is a driver error that contains secrets.
func saying(last string, secrets ...string) memdriver.Fault {
	message := "the store refuses"
	for _, secret := range secrets {
		message += " secret=" + secret + " url=https://store/?sig=" + url.QueryEscape(secret) + " header=" + base64.StdEncoding.EncodeToString([]byte(secret))
	}
	return memdriver.Fault{Code: codes.Unavailable, Message: message + " " + last}
}

// redacted waits until a condition contains the driver's last message, and fails the test if more than the
// secrets is missing from it.
func (w *world) redacted(access *cosiapi.BucketAccess, conditionType, last string) {
	w.t.Helper()
	until(w, access, "the access reports "+last, func(a *cosiapi.BucketAccess) error {
		message := testenv.Condition(a, conditionType).Message
		if !strings.HasSuffix(message, last+".") {
			return fmt.Errorf("it says: %s", message)
		}
		if !strings.Contains(message, "the store refuses secret=[redacted] url=https://store/?sig=[redacted] header=[redacted]") {
			w.t.Errorf("more than the secrets is left out: %s", message)
		}
		return nil
	})
}

// clean fails the test if a secret is found outside its Secret.
func (w *world) clean(secrets ...string) {
	w.t.Helper()
	found := w.everything()
	if w.log.count("[redacted]") == 0 || !strings.Contains(found["the traces"], "DriverGrantBucketAccess") || len(found) < 20 ||
		found["a Bucket"] == "" || found["a Event"] == "" || found["the metrics of the sidecar"] == "" || found["the metrics of the controller"] == "" {
		w.t.Errorf("the check is blind: it finds %q", slices.Sorted(maps.Keys(found)))
	}
	for _, secret := range secrets {
		for where, forms := range placesOf(secret, found) {
			w.t.Errorf("a credential is in %s, written as %s", where, forms)
		}
	}
}

// leak puts a secret in each possible place, each time in another encoding, and fails the test if the search
// does not find it.
func (w *world) leak() {
	w.t.Helper()
	secret := peculiar + w.namespace
	in := metav1.ObjectMeta{Namespace: w.namespace, Name: "leak"}
	event := &corev1.Event{ObjectMeta: in, Message: fmt.Sprintf("%q", secret), InvolvedObject: corev1.ObjectReference{Namespace: w.namespace}}
	noted := in.DeepCopy()
	noted.Annotations = map[string]string{"note": "sig=" + url.QueryEscape(secret)}
	w.create(
		event,
		&corev1.Secret{ObjectMeta: in, Data: map[string][]byte{"data": []byte("x" + secret)}},
		&corev1.ConfigMap{ObjectMeta: in, Data: map[string]string{"data": hex.EncodeToString([]byte(secret))}},
		&corev1.ServiceAccount{ObjectMeta: *noted},
	)
	w.logger(theSidecar).V(2).Info("writing", "data", []byte(secret))
	_, span := w.tracer().Tracer("leak").Start(w.t.Context(), "leak", trace.WithAttributes(attribute.String("data", secret)))
	span.End()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "leaks_total", Help: "A leak.", ConstLabels: prometheus.Labels{"data": secret}})
	w.must(w.registry(theController).Register(counter))
	places := placesOf(secret, w.everything())
	for _, where := range []string{"a Event", "a Secret", "a ConfigMap", "a ServiceAccount", "the log", "the traces", "the metrics of the controller"} {
		if places[where] == nil {
			w.t.Errorf("the search does not find a secret in %s", where)
		}
	}
}

// placesOf returns the places that contain a secret, with the encodings.
func placesOf(secret string, everything map[string]string) map[string][]string {
	places := map[string][]string{}
	for form, text := range formsOf(secret) {
		for where, content := range everything {
			if strings.Contains(content, text) {
				places[where] = append(places[where], form)
			}
		}
	}
	return places
}

// formsOf returns the encodings of a secret.
func formsOf(secret string) map[string]string {
	asJSON, err := json.Marshal(secret)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	quoted := func(s string) string { s = strconv.Quote(s); return s[1 : len(s)-1] }
	forms := map[string]string{
		"it is": secret, "JSON": string(asJSON[1 : len(asJSON)-1]), "a Go string": quoted(secret), "a Go string twice": quoted(quoted(secret)),
		"a query": url.QueryEscape(secret), "a path": url.PathEscape(secret), "hexadecimal": hex.EncodeToString([]byte(secret)),
		"bytes": strings.Trim(fmt.Sprintf("%d", []byte(secret)), "[]"),
	}
	// The Base64 encoding depends on the number of preceding bytes modulo 3.
	for shift := range 3 {
		behind := append(make([]byte, shift), secret...)
		behind = behind[:len(behind)/3*3]
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "base64 of URLs": base64.URLEncoding} {
			forms[fmt.Sprintf("%s behind %d bytes", name, shift)] = encoding.EncodeToString(behind)[4*min(shift, 1):]
		}
	}
	return forms
}

// eachString calls found for all keys and string values of an object.
func eachString(value any, found func(string)) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			found(key)
			eachString(inner, found)
		}
	case []any:
		for _, inner := range v {
			eachString(inner, found)
		}
	case string:
		found(v)
	}
}

// everything returns all readable text except the access Secrets: the objects of every kind in the API
// server, including Events, and the log, metrics and traces.
func (w *world) everything() map[string]string {
	w.t.Helper()
	found := map[string]string{"the log": w.log.text()}
	kinds, err := discovery.NewDiscoveryClientForConfigOrDie(w.Config()).ServerPreferredResources()
	w.must(err)
	for _, group := range kinds {
		version, err := schema.ParseGroupVersion(group.GroupVersion)
		w.must(err)
		for _, kind := range group.APIResources {
			if !slices.Contains(kind.Verbs, "list") {
				continue
			}
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(version.WithKind(kind.Kind + "List"))
			w.must(w.Client.List(w.t.Context(), list))
			list.Items = slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
				return o.GetKind() == "Secret" && cosiapi.HasProtection(&o)
			})
			var all strings.Builder
			for _, item := range list.Items {
				eachString(item.Object, func(text string) { all.WriteString(text + "\n") })
			}
			found["a "+kind.Kind] += all.String()
		}
	}
	for _, s := range w.spans.Ended() {
		outcome := fmt.Sprint(s.Status())
		if s.SpanKind() == trace.SpanKindServer {
			outcome = "" // set by the test's driver itself
		}
		found["the traces"] += fmt.Sprintln(s.Name(), s.Attributes(), s.Events(), outcome, s.Links(), s.Resource())
	}
	w.lives.mu.Lock()
	defer w.lives.mu.Unlock()
	for who, registries := range w.metrics {
		for _, r := range registries {
			families, err := r.Gather()
			w.must(err)
			for _, family := range families {
				found["the metrics of the "+who] += fmt.Sprintln(family.GetName(), family.GetHelp())
				for _, m := range family.GetMetric() {
					for _, label := range m.GetLabel() {
						found["the metrics of the "+who] += fmt.Sprintln(label.GetName(), label.GetValue())
					}
				}
			}
		}
	}
	return found
}
