// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cooper-cosi/cooper/sidecar"
)

// errDead is the error for requests of a crashed process.
var errDead = errors.New("the process is dead: the request does not leave it")

// errLost is the error when the connection breaks.
var errLost = errors.New("the connection broke")

// A process is one run of a controller or sidecar. All its requests pass through it, so that none is sent
// after its crash.
type process struct {
	who  string
	tape *tape
	lags *lags
	// life is the User-Agent of its requests to the API server, which distinguishes them from those of other
	// processes.
	life string

	// gate orders its death and its requests.
	gate sync.Mutex
	dead bool
	// asked and called count the requests to the API server and the calls to the driver that it sent.
	asked, called int

	cancel context.CancelFunc
	// kill kills a program; nil for a manager in this process.
	kill func()
	// metrics is the metrics address of a program; empty if it has none.
	metrics string
	// atWork is closed when the manager's caches have synced; nil for a program.
	atWork <-chan struct{}
	ended  chan struct{}
	err    error
	proxy  *proxy
	driver *sidecar.Driver
	once   sync.Once
}

// run starts the manager of the process.
func (p *process) run(ctx context.Context, mgr ctrl.Manager) {
	p.atWork = mgr.Elected()
	go func() {
		p.err = mgr.Start(ctx)
		close(p.ended)
	}()
}

// ask counts a request to the API server. It returns an error if the process is dead.
func (p *process) ask() error { return p.depart(&p.asked) }

// call is ask for a call to the driver.
func (p *process) call() error { return p.depart(&p.called) }

func (p *process) depart(count *int) error {
	p.gate.Lock()
	defer p.gate.Unlock()
	if p.dead {
		return errDead
	}
	*count++
	return nil
}

// killed reports whether the process has died.
func (p *process) killed() bool {
	p.gate.Lock()
	defer p.gate.Unlock()
	return p.dead
}

// sent returns the numbers of requests and calls that the process has sent.
func (p *process) sent() (asked, called int) {
	p.gate.Lock()
	defer p.gate.Unlock()
	return p.asked, p.called
}

// die stops the process from sending anything, as SIGKILL does, and ends it. It may be called from one of its
// requests.
func (p *process) die() {
	p.gate.Lock()
	p.dead = true
	p.gate.Unlock()
	if p.kill != nil {
		p.kill()
		return
	}
	go p.cancel()
}

// awaitEnd waits until a dead process has ended.
func (p *process) awaitEnd() {
	p.cancel()
	<-p.ended
	p.close()
}

// stop ends the process gracefully.
func (p *process) stop() error {
	p.cancel()
	<-p.ended
	p.close()
	if p.killed() {
		return nil
	}
	return p.err
}

func (p *process) close() {
	p.once.Do(func() {
		if p.driver != nil {
			p.driver.Close()
		}
		if p.proxy != nil {
			p.proxy.stop()
		}
	})
}

// transport is the HTTP transport of a process to the API server.
type transport struct {
	process *process
	next    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	p := t.process
	if p.killed() {
		return nil, errDead
	}
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", p.life)
	if r.Method == http.MethodGet {
		response, err := t.leave(r)
		if err == nil && r.URL.Query().Get("watch") != "" {
			response.Body = p.lags.slow(p.who, resourceOf(r), response.Body)
		}
		return response, err
	}
	what := describe(r)
	if what.What == "" || ofFence(what.Name) {
		return t.leave(r) // a Lease, an Event, a review, or the sidecar's key, which are not recorded
	}
	what.Who = p.who
	if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			p.tape.note(body)
		}
	}
	return t.send(r, what)
}

// leave sends a request unless the process is dead.
func (t *transport) leave(r *http.Request) (*http.Response, error) {
	if err := t.process.ask(); err != nil {
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// send sends a write unless a fault applies.
func (t *transport) send(r *http.Request, what request) (*http.Response, error) {
	p := t.process
	e, f := p.tape.begin(what)
	if f != nil && f.Hold != nil {
		f.hit()
		if !f.hold(r.Context()) {
			p.tape.end(e, false)
			return nil, r.Context().Err()
		}
		if !f.After {
			f = nil
		}
	}
	if f != nil && !f.After {
		p.tape.end(e, false)
		return f.response(r)
	}
	response, err := t.leave(r)
	p.tape.end(e, err == nil && response.StatusCode < 300)
	if err == nil {
		err = p.tape.summarized(what, r, response)
	}
	if f == nil || err != nil {
		return response, err
	}
	_ = response.Body.Close() // the connection breaks and the response is lost
	return f.response(r)
}

// response returns the response that the process sees in place of the server's.
func (f *fault) response(r *http.Request) (*http.Response, error) {
	f.hit()
	if f.Status == 0 {
		return nil, errLost
	}
	reason := map[int]metav1.StatusReason{
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
	}[f.Status]
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(f.Status), Reason: reason, Message: "struck by a fault of the test",
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: f.Status, Status: http.StatusText(f.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// resourceOf returns the plural name of the resource of a request.
func resourceOf(r *http.Request) string {
	resource, _ := splitPath(r.URL.Path)
	return strings.Split(resource, "/")[0]
}

// describe describes a write. What is empty if the write is not recorded.
func describe(r *http.Request) request {
	resource, name := splitPath(r.URL.Path)
	switch strings.Split(resource, "/")[0] {
	case "buckets", "bucketclaims", "bucketaccesses", "secrets":
	default:
		return request{}
	}
	verb := map[string]string{
		http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]
	return request{What: verb + " " + resource, Name: name}
}

// splitPath returns the resource, including the subresource, and the name in a path of the Kubernetes API.
func splitPath(path string) (resource, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2 // for api/v1
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) > skip+2 && parts[skip] == "namespaces" {
		skip += 2
	}
	if len(parts) <= skip {
		return "", ""
	}
	parts = parts[skip:]
	resource = parts[0]
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		resource = fmt.Sprintf("%s/%s", resource, parts[2])
	}
	return resource, name
}

// lags delays watches.
type lags struct {
	mu   sync.Mutex
	held map[string]chan struct{} // by "who resource"
}

// lag withholds events about a resource from a component until release is called.
func (l *lags) lag(who, resource string) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	key, until := who+" "+resource, make(chan struct{})
	l.held[key] = until
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held[key] == until {
			delete(l.held, key)
		}
		close(until)
	})
}

func (l *lags) slow(who, resource string, body io.ReadCloser) io.ReadCloser {
	return &slowBody{ReadCloser: body, lags: l, key: who + " " + resource, closed: make(chan struct{})}
}

// slowBody is the response body of a watch.
type slowBody struct {
	io.ReadCloser

	lags   *lags
	key    string
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.lags.mu.Lock()
	until := b.lags.held[b.key]
	b.lags.mu.Unlock()
	if until != nil && err == nil {
		select {
		case <-until:
		case <-b.closed:
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *slowBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}
