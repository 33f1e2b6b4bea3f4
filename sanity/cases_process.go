// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cosi "github.com/cooper-cosi/cooper/proto"
)

func processCases() []Case {
	const hosting = "Container Object Storage Interface: socket"
	return []Case{
		{
			ID: "UDS-001", Level: Must, Phase: Process, Needs: []Need{NeedProcess},
			Title: "reads COSI_ENDPOINT, listens on that socket and serves DriverGetInfo",
			Rule:  spec(hosting, "Plugin components SHALL create, bind, and listen for RPCs on the specified listen address."),
			Why:   "the quoted text uses SHALL",
			Fix:   "listen on the path after unix:// in COSI_ENDPOINT and serve gRPC there",
			Run: func(c *C) {
				c.restart()
				c.identify()
			},
		},
		{
			ID: "UDS-002", Level: Should, Phase: Process, Needs: []Need{NeedProcess},
			Title: "rejects a COSI_ENDPOINT that is not a UNIX socket, with a message on stderr",
			Rule:  spec("Supervised lifecycle", "Misconfigured plugin software SHOULD fail-fast with an OS-appropriate error code."),
			Why:   "the quoted text uses SHOULD; only UNIX domain sockets may be endpoints",
			Fix:   "check the scheme of COSI_ENDPOINT at start; print an error and exit non-zero unless it is unix",
			Run:   func(c *C) { c.failsFast("tcp://127.0.0.1:0") },
		},
		{
			ID: "UDS-003", Level: Should, Phase: Process, Needs: []Need{NeedProcess},
			Title: "rejects a socket path that does not end with .sock",
			Rule:  spec("COSI_ENDPOINT", "All UNIX endpoints SHALL end with .sock."),
			Why:   "the SHALL is about the component that sets the variable; to fail fast on an invalid value is a SHOULD",
			Fix:   "check the suffix of COSI_ENDPOINT at start; print an error and exit non-zero",
			Run:   func(c *C) { c.failsFast(unixScheme + filepath.Join(c.suite.driver.work, "driver.socket")) },
		},
		{
			ID: "UDS-004", Level: Should, Phase: Process, Needs: []Need{NeedProcess},
			Title: "without COSI_ENDPOINT, uses a default address and prints it, or fails fast",
			Rule:  spec("COSI_ENDPOINT", "This variable is REQUIRED."),
			Why:   "to fail fast on an invalid configuration is a SHOULD",
			Fix:   "print an error and exit non-zero when COSI_ENDPOINT is empty, or print the default address",
			Run:   runUnsetEndpoint,
		},
		{
			ID: "UDS-005", Level: Must, Phase: Process, Needs: nil,
			Title: "serves Identity and Provisioner on the same address",
			Rule:  spec(hosting, "All supported RPC services MUST be available at the listen address of the Plugin."),
			Why:   "the quoted text uses MUST",
			Fix:   "register both services on one gRPC server",
			Run:   runBothServices,
		},
		{
			ID: "UDS-006", Level: Must, Phase: Process, Needs: []Need{NeedProcess},
			Title: "creates only the socket in its directory",
			Rule: spec(hosting, "Plugins SHALL NOT create additional files or directories adjacent to the UNIX socket "+
				"specified by COSI_ENDPOINT; violations of this requirement constitute \"abuse\"."),
			Why: "the quoted text uses SHALL NOT",
			Fix: "do not create lock, log or state files in the socket's directory",
			Run: func(c *C) {
				c.restart()
				c.delete(c.created())
				c.onlySocket()
			},
		},
		{
			ID: "UDS-007", Level: Advice, Phase: Process, Needs: []Need{NeedProcess},
			Title: "replaces the socket of a killed process",
			Rule:  advice("A killed driver leaves its socket behind. The next process must be able to listen there, or restarts fail."),
			Why:   "no specification covers stale sockets",
			Fix:   "at start, remove a socket on which no process listens, then listen",
			Run: func(c *C) {
				path := strings.TrimPrefix(c.suite.driver.endpoint, unixScheme)
				if err := c.suite.driver.kill(); err != nil {
					c.Fail("kill the driver: %v", err)
				}
				if _, err := os.Lstat(path); err != nil {
					c.suite.driver.leaveSocket(path)
				}
				if err := c.suite.driver.up(c.ctx); err != nil {
					c.Fail("the driver does not start if there is a stale socket: %v", err)
				}
			},
		},
		{
			ID: "UDS-008", Level: Advice, Phase: Process, Needs: []Need{NeedCreation, NeedProcess},
			Title: "on SIGTERM, ends the calls in flight, removes the socket and exits with code 0 in time",
			Rule:  advice("Kubernetes terminates a Pod with SIGTERM: calls in flight should end or be cancelled, and the exit code should be 0."),
			Why:   "no specification covers signals",
			Fix:   "on SIGTERM, stop the gRPC server gracefully within a few seconds, and return from main",
			Run:   runTerminate,
		},
		{
			ID: "UDS-009", Level: Should, Phase: Process, Needs: []Need{NeedProcess},
			Title: "creates a socket that not all users may write to",
			Rule: spec(hosting, "it is the responsibility of the COSI system operator and Provisioner Sidecar to properly secure access "+
				"to the Domain Socket using OS filesystem ACLs"),
			Why: "this is a duty of the operator; a driver should not counteract it",
			Fix: "set the umask before listening, or chmod the socket to 0660 or less",
			Run: func(c *C) {
				info, err := os.Stat(strings.TrimPrefix(c.suite.driver.endpoint, unixScheme))
				if err != nil {
					c.Fail("check the socket: %v", err)
				}
				if info.Mode().Perm()&0o002 != 0 {
					c.Fail("the socket has mode %s: any user may connect to it", info.Mode())
				}
			},
		},
		{
			ID: "UDS-010", Level: Must, Phase: Process,
			Title: "continues to serve after the client disconnects",
			Rule: spec("COSI_ENDPOINT", "The Provisioner Sidecar expects that a Plugin SHALL act as a long-running service vs. "+
				"an on-demand, CLI-driven process."),
			Why: "the quoted text uses SHALL",
			Fix: "do not exit when a connection ends",
			Run: func(c *C) {
				for range 3 {
					if err := c.suite.driver.connect(c.ctx); err != nil {
						c.suite.driver.revive(c.ctx)
						c.Fail("the driver does not respond after the client closed its connection: %v", err)
					}
				}
			},
		},
	}
}

// revive restarts the driver for the following cases.
func (d *driver) revive(ctx context.Context) {
	if d.launcher != nil {
		// If the driver does not come back, the next case reports that.
		_ = d.restart(ctx)
	}
}

// leaveSocket leaves the socket file that a killed process would leave.
func (d *driver) leaveSocket(path string) {
	file, err := os.Create(path)
	if err == nil {
		_ = file.Close()
	}
}

// attemptStart launches a separate instance with the variables and waits for it to exit.
func (c *C) attemptStart(arguments []string, variables ...string) (text string, exited bool, code int) {
	out := &output{}
	instance, err := c.suite.driver.launchWith(c.ctx, out, arguments, variables...)
	if err != nil {
		return err.Error(), true, 1
	}
	limit := c.suite.limits.Start
	if len(arguments) > 0 {
		// A driver that ignores the argument starts serving. Only its output up to now is checked.
		limit = min(limit, 3*time.Second)
	}
	select {
	case <-instance.Done():
		return out.String(), true, instance.ExitCode()
	case <-time.After(limit):
	case <-c.ctx.Done():
	}
	// It did not exit; an error from Kill adds no information.
	_ = instance.Kill()
	return out.String(), false, -1
}

func (c *C) failsFast(endpoint string) {
	text, exited, code := c.attemptStart(nil, endpointVariable+"="+endpoint)
	switch {
	case !exited:
		c.Fail("with COSI_ENDPOINT=%s, the driver still runs after %s", endpoint, c.suite.limits.Start)
	case code == 0:
		c.Fail("with COSI_ENDPOINT=%s, the driver exits with code 0", endpoint)
	case strings.TrimSpace(text) == "":
		c.Fail("with COSI_ENDPOINT=%s, the driver exits with code %d and prints no reason", endpoint, code)
	}
}

func runUnsetEndpoint(c *C) {
	text, exited, code := c.attemptStart(nil)
	switch {
	case exited && (code == 0 || strings.TrimSpace(text) == ""):
		c.Fail("without COSI_ENDPOINT, the driver exits with code %d and prints %q; it must print the reason and exit with a code other than 0", code, text)
	case !exited && !strings.Contains(text, ".sock"):
		c.Fail("without COSI_ENDPOINT, the driver still runs after %s and does not print its address", c.suite.limits.Start)
	}
}

// identify calls DriverGetInfo in either contract.
func (c *C) identify() *cosi.DriverGetInfoResponse {
	info, err := identify(c.ctx, c.suite.config.Contract, c.suite.driver)
	if err != nil {
		c.Fail("DriverGetInfo must return OK, not %s", status.Code(err))
	}
	return info
}

func runBothServices(c *C) {
	c.identify()
	if _, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketId, c.bucketRequest(c.name())); code == codes.Unimplemented || code == codes.Unavailable {
		c.Fail("the Provisioner service is missing: DriverGenerateBucketId returns %s", code)
	}
}

func (c *C) onlySocket() {
	entries, err := os.ReadDir(c.suite.driver.directory)
	if err != nil {
		c.Fail("list the directory of the socket: %v", err)
	}
	for _, entry := range entries {
		if entry.Name() != socketName {
			c.Fail("the driver created %q in the directory of its socket", entry.Name())
		}
	}
}

func runTerminate(c *C) {
	instance := c.suite.driver.running()
	path := strings.TrimPrefix(c.suite.driver.endpoint, unixScheme)
	c.created() // another case covers drivers that fail here
	b := c.generated()
	answered := make(chan codes.Code, 1)
	go func() {
		_, code := try(c.ctx, c, c.provisioner.DriverCreateBucket, b.create())
		answered <- code
	}()
	if err := instance.Terminate(); err != nil {
		c.Fail("send SIGTERM: %v", err)
	}
	exited := false
	select {
	case <-instance.Done():
		exited = true
	case <-time.After(c.suite.limits.Stop):
	}
	code := -1
	if exited {
		code = instance.ExitCode()
	}
	_, statErr := os.Lstat(path)
	call := <-answered
	c.suite.driver.revive(c.ctx)
	switch {
	case !exited:
		c.Fail("the driver still runs %s after SIGTERM", c.suite.limits.Stop)
	case code != 0:
		c.Fail("the driver exits with code %d after SIGTERM", code)
	case statErr == nil:
		c.Fail("the driver leaves its socket behind after SIGTERM")
	case !slices.Contains([]codes.Code{codes.OK, codes.Canceled, codes.Unavailable, codes.Aborted}, call):
		c.Fail("the call in flight during SIGTERM returned %s", call)
	}
}
