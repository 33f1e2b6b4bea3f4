// SPDX-License-Identifier: Apache-2.0

package managers

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// reviewTimeout bounds the two questions that a request takes.
	reviewTimeout = 10 * time.Second
	// reviewedFor is how long it counts that a user may or may not, also after the right was given or taken.
	reviewedFor = 30 * time.Second
	// maxReviewed is how many answers are kept at most: callers choose what they send.
	maxReviewed = 256
)

// reviewed lets those requests through whose bearer token the API server knows, and to whose user it allows the path. It
// asks what the filter of controller-runtime asks, which costs each process some 10 MiB of memory (ADR 0048).
func reviewed(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	tokens, err := authenticationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("client for TokenReviews: %w", err)
	}
	rights, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("client for SubjectAccessReviews: %w", err)
	}
	r := &reviewer{tokens: tokens.TokenReviews(), rights: rights.SubjectAccessReviews(), answers: cache.NewLRUExpireCache(maxReviewed)}
	return r.filter, nil
}

// reviewer asks the API server who may make a request, and keeps its answers for a while.
type reviewer struct {
	tokens  authenticationclient.TokenReviewInterface
	rights  authorizationclient.SubjectAccessReviewInterface
	answers *cache.LRUExpireCache // of the hash of token, verb and path, the HTTP status as an int
}

func (r *reviewer) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), reviewTimeout)
		status, err := r.review(ctx, log, req)
		cancel()
		switch {
		case err != nil:
			log.Error(err, "The API server did not say who may read the metrics")
			http.Error(w, "the API server could not be asked who may read this; the log of this process has the details", http.StatusInternalServerError)
		case status == http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token that the API server knows is required", status)
		case status == http.StatusForbidden:
			http.Error(w, "the user of this token may not "+verb(req)+" "+req.URL.Path+"; bind the ClusterRole cosi-metrics-reader", status)
		default:
			next.ServeHTTP(w, req)
		}
	}), nil
}

// review returns the status of a request: OK, Unauthorized or Forbidden. Its error is the API server's.
func (r *reviewer) review(ctx context.Context, log logr.Logger, req *http.Request) (int, error) {
	words := strings.Fields(req.Header.Get("Authorization"))
	if len(words) != 2 || !strings.EqualFold(words[0], "Bearer") {
		return http.StatusUnauthorized, nil
	}
	// A key of one size, which does not hold what the caller sent: that may be long, and is secret.
	key := sha256.Sum256([]byte(words[1] + "\x00" + verb(req) + "\x00" + req.URL.Path))
	if answer, ok := r.answers.Get(key); ok {
		return answer.(int), nil //nolint:forcetypeassert // nothing else is added
	}
	status, err := r.ask(ctx, log, words[1], authorizationv1.NonResourceAttributes{Path: req.URL.Path, Verb: verb(req)})
	// Whoever has no token that counts must not take the place of those who have one.
	if err == nil && status != http.StatusUnauthorized {
		r.answers.Add(key, status, reviewedFor)
	}
	return status, err
}

func (r *reviewer) ask(ctx context.Context, log logr.Logger, token string, what authorizationv1.NonResourceAttributes) (int, error) {
	who, err := r.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create TokenReview: %w", err)
	}
	if !who.Status.Authenticated {
		log.Info("The API server does not know the token of a request for metrics", "reason", who.Status.Error)
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &what,
	}}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("create SubjectAccessReview: %w", err)
	}
	if !may.Status.Allowed || may.Status.Denied {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}

// verb is that of a request in RBAC's rules for paths.
func verb(req *http.Request) string { return strings.ToLower(req.Method) }
