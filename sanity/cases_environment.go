// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const cosiPrefix = "COSI_"

func processEnvironmentCases() []Case {
	return []Case{
		{
			ID: "UDS-011", Level: Advice, Phase: Process, Needs: []Need{NeedProcess},
			Title: "refuses a socket path longer than the system allows, clearly",
			Rule:  advice("A path of more than 107 bytes cannot be bound; the error of the system alone, \"invalid argument\", helps nobody."),
			Why:   "no text speaks of it",
			Fix:   "check the length of the path at start and name the limit in the error",
			Run: func(c *C) {
				c.failsFast(unixScheme + filepath.Join(c.suite.driver.work, strings.Repeat("x", 120)+".sock"))
			},
		},
		{
			ID: "UDS-012", Level: Should, Phase: Process, Needs: []Need{NeedProcess, NeedUsage},
			Title: "logs to standard output and standard error only",
			Rule:  spec("Logging", "Plugins SHOULD generate log messages to ONLY standard output and/or standard error."),
			Why:   "the sentence says SHOULD",
			Fix:   "write log messages to standard error, and leave files to whoever runs the driver",
			Run:   runLogFiles,
		},
		{
			ID: "UDS-013", Level: Should, Phase: Last, Needs: []Need{NeedProcess, NeedKey},
			Title: "prints no credential that it granted",
			Rule:  spec("Logging", "Plugins SHOULD NOT write potentially sensitive data to logs (e.g. secrets)."),
			Why:   "the sentence says SHOULD NOT",
			Fix:   "redact the fields with the option cosi_secret before a message is logged, on every path",
			Run:   runPrintedSecrets,
		},
		{
			ID: "UDS-014", Level: Must, Phase: Process, Needs: []Need{NeedProcess},
			Title: "gives its own settings no name that begins with COSI_",
			Rule: spec("Supervised lifecycle: environment variables", "Configuration properties not defined by the COSI specification "+
				"SHALL NOT use the same COSI_ name prefix; this prefix is reserved for common configuration properties defined by the COSI specification."),
			Why: "the sentence says SHALL NOT",
			Fix: "rename the environment variables of the driver",
			Run: runVariableNames,
		},
		{
			ID: "UDS-015", Level: Should, Phase: Process, Needs: []Need{NeedProcess},
			Title: "works without a kubeconfig and without a service account token",
			Rule: kep("DriverDeleteBucket", "DriverDeleteBucketRequest { bucket_id, parameters: { // copied from Bucket.parameters } }: "+
				"what a driver needs is in the request"),
			Why: "that requests carry the parameters makes reading Kubernetes needless; no sentence forbids it",
			Fix: "take everything from the request and the driver's own configuration, nothing from the Kubernetes API",
			Run: func(c *C) {
				// No instance that the suite starts has either of them; see driver.launch.
				c.restart()
				b := c.created()
				c.revoke(c.granted(b))
				c.delete(b)
			},
		},
	}
}

func runLogFiles(c *C) {
	c.delete(c.created())
	instance, can := c.suite.driver.running().(Usage)
	if !can {
		c.notApplicable("the open files of the driver's process cannot be read")
	}
	files, err := instance.OpenFiles()
	if err != nil {
		c.notApplicable("%v", err)
	}
	for _, file := range files {
		if base := filepath.Base(file); strings.Contains(base, ".log") || strings.HasPrefix(file, "/var/log/") {
			c.Fail("the driver has the log file %s open", file)
		}
	}
}

func runPrintedSecrets(c *C) {
	b := c.created()
	a := c.granted(b)
	c.grant(a)
	c.revoke(a)
	c.printsNoSecret()
}

// printsNoSecret searches the driver's output for every secret that it returned.
func (c *C) printsNoSecret() {
	printed := c.suite.driver.output.String()
	_, _, secrets := c.suite.traffic.copy()
	for value, field := range secrets {
		// A short value could match by chance.
		if len(value) >= 8 && strings.Contains(printed, value) {
			c.Fail("the driver printed the value of a field %s that it returned", field)
		}
	}
}

var variablePattern = regexp.MustCompile(`\bCOSI_[A-Z0-9_]+`)

func runVariableNames(c *C) {
	allowed := []string{endpointVariable}
	help, _, _ := c.attemptStart([]string{"--help"}, endpointVariable+"="+unixScheme+filepath.Join(c.suite.driver.work, "help.sock"))
	for _, name := range variablePattern.FindAllString(help, -1) {
		if !slices.Contains(allowed, name) {
			c.Fail("--help names the variable %s; the prefix COSI_ is reserved for the specification", name)
		}
	}
	for _, variable := range slices.Concat(c.suite.config.ImageEnvironment, c.suite.config.Environment) {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, cosiPrefix) && !slices.Contains(allowed, name) {
			c.Fail("the driver is configured by the variable %s; the prefix COSI_ is reserved for the specification", name)
		}
	}
}
