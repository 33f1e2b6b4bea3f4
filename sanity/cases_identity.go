// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"regexp"
	"strings"

	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

var (
	driverNamePattern  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
	domainLabelPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$`)
)

const maxDriverName = 63

func (c *C) getInfo() *cosi.DriverGetInfoResponse {
	return ok(c, c.identity.DriverGetInfo, &cosi.DriverGetInfoRequest{})
}

func identityCases() []Case {
	const section = "DriverGetInfoResponse"
	const nameRule = "It MUST be 63 characters or less, beginning and ending with an alphanumeric character ([a-z0-9A-Z]) " +
		"with dashes (-), dots (.), and alphanumerics between."
	return []Case{
		{
			ID: "IDN-001", Level: Must, Title: "returns a name",
			Rule: spec(section, "This field is REQUIRED"), Why: "a REQUIRED field MUST be specified",
			Fix: "return the driver's name in DriverGetInfo",
			Run: func(c *C) {
				if c.getInfo().GetName() == "" {
					c.Fail("DriverGetInfo returns no name")
				}
			},
		},
		{
			ID: "IDN-002", Level: Must, Title: "returns a name of at most 63 characters",
			Rule: spec(section, nameRule), Why: "the quoted text uses MUST", Fix: "choose a shorter name",
			Run: func(c *C) {
				if name := c.getInfo().GetName(); len(name) > maxDriverName {
					c.Fail("the name %q has %d characters", name, len(name))
				}
			},
		},
		{
			ID: "IDN-003", Level: Must, Title: "returns a name of letters, digits, dashes and dots",
			Rule: spec(section, nameRule), Why: "the quoted text uses MUST",
			Fix: "use a domain name such as s3.example.com",
			Run: func(c *C) {
				if name := c.getInfo().GetName(); name != "" && !driverNamePattern.MatchString(name) {
					c.Fail("the name %q has characters that are not allowed, or not allowed in their position", name)
				}
			},
		},
		{
			ID: "IDN-004", Level: Should, Title: "uses a domain name of its company as its name",
			Rule: spec(section, "It SHOULD include the plugin's host company name and the plugin name, to minimize the possibility of collisions."),
			Why: "the quoted text uses SHOULD; the same paragraph's MUST on RFC 1035 contradicts its own pattern for labels that " +
				"begin with a digit, so this suite treats the rule for labels as SHOULD",
			Fix: "use at least two labels, such as s3.example.com, each beginning with a letter",
			Run: runDomainName,
		},
		{
			ID: "IDN-005", Level: Must, Title: "supports at least one protocol",
			Rule: kep("DriverGetInfo", "\"supported_protocols\": [ // one or more of: \"S3\", \"Azure\", \"GCS\" ]"),
			Why:  "\"one or more of\" excludes an empty list", Fix: "return the protocols in DriverGetInfo",
			Run: func(c *C) {
				if len(c.getInfo().GetSupportedProtocols()) == 0 {
					c.Fail("DriverGetInfo returns no protocol")
				}
			},
		},
		{
			ID: "IDN-006", Level: Must, Title: "returns only protocols of the contract",
			Rule: kep("DriverGetInfo", "\"supported_protocols\": [ // one or more of: \"S3\", \"Azure\", \"GCS\" ]"),
			Why:  "the list is closed", Fix: "return S3, AZURE or GCS, never UNKNOWN or an undefined number",
			Run: func(c *C) {
				for _, protocol := range c.getInfo().GetSupportedProtocols() {
					if _, known := cosi.ObjectProtocol_Type_name[int32(protocol.GetType())]; !known || protocol.GetType() == cosi.ObjectProtocol_UNKNOWN {
						c.Fail("DriverGetInfo returns the protocol %s", protocol.GetType())
					}
				}
			},
		},
		{
			ID: "IDN-007", Level: Should, Title: "returns each protocol once",
			Rule: kep("DriverGetInfo", "\"supported_protocols\": [ // one or more of"),
			Why:  "repetitions in a list of supported protocols have no purpose, but no specification forbids them", Fix: "remove the repetition",
			Run: func(c *C) {
				seen := map[cosi.ObjectProtocol_Type]bool{}
				for _, protocol := range c.getInfo().GetSupportedProtocols() {
					if seen[protocol.GetType()] {
						c.Fail("DriverGetInfo returns %s more than once", protocol.GetType())
					}
					seen[protocol.GetType()] = true
				}
			},
		},
		{
			ID: "IDN-008", Level: Must, Phase: Process, Title: "returns the same response every time, also after a restart",
			Rule: kep("DriverGetInfo", "The name is used to identify which resources the driver should manage."),
			Why:  "a name that changes cannot identify resources", Fix: "read the name from the configuration, not from the host or the time",
			Run: runSameInfo,
		},
		{
			ID: "IDN-009", Level: Advice, Phase: Alone, Needs: []Need{NeedBackendFaults}, Title: "responds while the backend is down",
			Rule: advice("The response of DriverGetInfo does not depend on the backend, and a sidecar cannot start without it."),
			Why:  "no specification covers this", Fix: "serve DriverGetInfo from configuration, without a call to the backend",
			Run: func(c *C) {
				c.broken(BackendDown)
				c.getInfo()
			},
		},
	}
}

func runDomainName(c *C) {
	name := c.getInfo().GetName()
	labels := strings.Split(name, ".")
	if len(labels) < 2 {
		c.Fail("the name %q has one label; a domain name of the company avoids collisions", name)
	}
	for _, label := range labels {
		if !domainLabelPattern.MatchString(label) {
			c.Fail("%q in the name %q is not a label according to RFC 1035: it must start with a letter, end with a letter or digit, and have only letters, digits and dashes", label, name)
		}
	}
}

func runSameInfo(c *C) {
	first := c.getInfo()
	for range c.suite.limits.Repeats {
		if again := c.getInfo(); !proto.Equal(first, again) {
			c.Fail("DriverGetInfo returns %s, then %s", first, again)
		}
	}
	if !c.canRestart() {
		return
	}
	c.restart()
	if again := c.getInfo(); !proto.Equal(first, again) {
		c.Fail("DriverGetInfo returns %s, and after a restart %s", first, again)
	}
}

// broken causes a fault in the backend until the case is over.
func (c *C) broken(fault Fault) (mend func()) {
	backend := c.suite.config.Backend
	mended := false
	c.later(func(ctx context.Context) error {
		if mended {
			return nil
		}
		return backend.Mend(ctx, fault)
	})
	if err := backend.Break(c.ctx, fault); err != nil {
		c.Fail("the hook that stops or restores the backend failed: %v", err)
	}
	return func() {
		mended = true
		if err := backend.Mend(c.ctx, fault); err != nil {
			c.Fail("the hook that stops or restores the backend failed: %v", err)
		}
	}
}
