// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/grants"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// trial tests credentials and prints a line for each request.
type trial struct {
	probers map[cosi.ObjectProtocol_Type]sanity.Prober
	timeout time.Duration
	out     *tabwriter.Writer
	// problems are the problems found, with what to do.
	problems []string
}

func (t *trial) all(ctx context.Context, granted []grants.Grant) error {
	fmt.Fprintln(t.out, "CLAIM\tREQUEST\tRESULT")
	for _, grant := range granted {
		t.one(ctx, grant)
	}
	_ = t.out.Flush() // an error of standard output cannot be reported
	if len(t.problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(t.problems, "\n"))
}

// wish is the expected outcome of an action, according to the access modes.
type wish int

const (
	may wish = iota // either outcome is accepted
	must
	mustNot
)

// wishes returns the expected outcomes of putting and reading objects for an access mode of object data.
func wishes(mode cosiapi.BucketAccessMode) (put, read wish) {
	switch mode {
	case cosiapi.BucketAccessModeReadWrite:
		return must, must
	case cosiapi.BucketAccessModeReadOnly:
		return mustNot, must
	case cosiapi.BucketAccessModeWriteOnly:
		return must, mustNot
	default:
		return may, may
	}
}

// one tests the credential with the bucket of one claim.
func (t *trial) one(ctx context.Context, grant grants.Grant) {
	protocol, info, credential := secretkeys.Read(grant.Data)
	attempt := sanity.Attempt{
		BucketID: grant.BucketID, Info: info, Credentials: credential, Key: "cosi-test-" + strings.ToLower(rand.Text()), Body: []byte("kubectl cosi test\n"),
	}
	prober := t.probers[secretkeys.Type(protocol)]
	if prober == nil || credential.GetS3() == nil && credential.GetAzure() == nil && credential.GetGcs() == nil {
		t.problem(grant, "", "Secret %q contains no credential", grant.Secret)
		return
	}
	put, read := wishes(grant.Modes.ObjectData)
	there := false // whether the object exists
	for _, step := range []struct {
		action sanity.Action
		name   string
		wish   wish
	}{{sanity.PutObject, "put", put}, {sanity.GetObject, "get", read}, {sanity.ListObjects, "list", read}, {sanity.DeleteObject, "delete", may}} {
		if step.action == sanity.ListObjects && step.wish == mustNot {
			step.wish = may // write-only access may include listing
		}
		within := ctx
		if step.action == sanity.DeleteObject {
			if !there {
				continue
			}
			within = context.WithoutCancel(ctx) // clean up even after cancellation
		}
		attempt.Action = step.action
		outcome, err := t.try(within, prober, attempt)
		if err != nil {
			t.problem(grant, step.name, "%s", err.Error())
			if step.action == sanity.PutObject { // the put may have succeeded despite the error
				attempt.Action = sanity.DeleteObject
				_, _ = t.try(context.WithoutCancel(ctx), prober, attempt)
			}
			if !there {
				return
			}
			continue
		}
		there = there || step.action == sanity.PutObject && outcome.Verdict == sanity.Allowed
		t.judge(grant, step.name, step.wish, attempt, outcome, there)
	}
}

func (t *trial) try(ctx context.Context, prober sanity.Prober, attempt sanity.Attempt) (sanity.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return prober.Try(ctx, attempt)
}

// judge prints the outcome of a request, and records it as a problem if it is not as expected.
func (t *trial) judge(grant grants.Grant, name string, wanted wish, attempt sanity.Attempt, outcome sanity.Outcome, there bool) {
	refused := outcome.Verdict == sanity.Refused
	switch problem := wrong(grant, wanted, attempt, outcome, there); {
	case problem != "":
		t.problem(grant, name, "%s", problem)
	case refused && wanted == mustNot:
		t.line(grant, name, "ok: denied, because the access has objectData: "+string(grant.Modes.ObjectData))
	case refused && attempt.Action == sanity.DeleteObject:
		t.line(grant, name, fmt.Sprintf("denied, possibly because the class disallows deletion; the object %s remains", attempt.Key))
	case refused:
		t.line(grant, name, "denied")
	default:
		t.line(grant, name, "ok")
	}
}

// wrong returns what is wrong with an outcome; there means that the object was stored.
func wrong(grant grants.Grant, wanted wish, attempt sanity.Attempt, outcome sanity.Outcome, there bool) string {
	detail := outcome.Detail
	allowed := outcome.Verdict == sanity.Allowed
	switch {
	case outcome.Verdict == sanity.Missing && (there || attempt.Action != sanity.GetObject || bucketless(detail)):
		return "the bucket or the object does not exist: " + detail
	case outcome.Verdict == sanity.Refused && wanted == must:
		return "the store denies the request: " + detail
	case outcome.Verdict != sanity.Refused && wanted == mustNot:
		return "the store allows the request, although the access has objectData: " + string(grant.Modes.ObjectData)
	case attempt.Action == sanity.GetObject && allowed && !bytes.Equal(outcome.Body, attempt.Body):
		return "the returned object differs from the stored object"
	case attempt.Action == sanity.ListObjects && allowed && there && len(outcome.Keys) < page && !slices.Contains(outcome.Keys, attempt.Key):
		return "the stored object is not in the list"
	default:
		return ""
	}
}

// page is the number of objects in one list response.
const page = 1000

// bucketless reports whether the bucket is missing. A reader gets the same error code for an object that was
// never stored.
func bucketless(detail string) bool {
	return strings.Contains(detail, "NoSuchBucket") || strings.Contains(detail, "ContainerNotFound")
}

func (t *trial) line(grant grants.Grant, name, result string) {
	fmt.Fprintf(t.out, "%s\t%s\t%s\n", grant.Claim, name, result)
}

// problem prints a failed request, and records what to do.
func (t *trial) problem(grant grants.Grant, name, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.line(grant, name, "FAILED")
	what := fmt.Sprintf("claim %q: %s: %s", grant.Claim, name, text)
	if name == "" {
		what = fmt.Sprintf("claim %q: %s", grant.Claim, text)
	}
	t.problems = append(t.problems, what+". "+advice(text))
}

// advice returns what to do about a failure.
func advice(text string) string {
	for _, known := range []struct{ word, advice string }{
		{"no such host", "The address may be reachable only inside the cluster: try in a Pod."},
		{"connection refused", "Check that the store is running and reachable from here."},
		{"deadline exceeded", "The store does not respond. Check that it is reachable from here."},
		{"i/o timeout", "The store does not respond. Check that it is reachable from here."},
		{"certificate", "The store's certificate is not trusted. An administrator must configure its certificate authority in the driver, which delivers it as COSI_CERTIFICATE_AUTHORITY."},
		{"RequestTimeTooSkewed", "The clocks of this machine and the store differ."},
		{"InvalidAccessKeyId", "The key does not exist in the store. Request a new one with kubectl cosi rotate."},
		{"SignatureDoesNotMatch", "The secret does not match the key. The Secret was changed, or a proxy changes requests."},
		{"AuthenticationFailed", "The signature has expired or was revoked. Request a new one with kubectl cosi rotate."},
		{"NoSuchBucket", "An administrator must check why the bucket is missing in the store."},
		{"ContainerNotFound", "An administrator must check why the container is missing in the store."},
		{"although the access", "An administrator must check public access to the bucket, and other accesses of the same account."},
		{"the store denies the request", "A new credential may take a minute to become effective. If the error persists, an administrator must check which policies of the store deny the request."},
	} {
		if strings.Contains(text, known.word) {
			return known.advice
		}
	}
	return "See kubectl cosi status."
}
