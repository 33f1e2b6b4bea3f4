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
			Title: "rejects a socket path that is too long with a clear error",
			Rule:  advice("A UNIX socket path has at most 107 bytes. The operating system's error, \"invalid argument\", does not help users."),
			Why:   "no specification covers this",
			Fix:   "check the length of the path at start and name the limit in the error",
			Run: func(c *C) {
				c.failsFast(unixScheme + filepath.Join(c.suite.driver.work, strings.Repeat("x", 120)+".sock"))
			},
		},
		{
			ID: "UDS-012", Level: Should, Phase: Process, Needs: []Need{NeedProcess, NeedUsage},
			Title: "logs to standard output and standard error only",
			Rule:  spec("Logging", "Plugins SHOULD generate log messages to ONLY standard output and/or standard error."),
			Why:   "the quoted text uses SHOULD",
			Fix:   "write log messages to standard error; the operator can redirect them to files",
			Run:   runLogFiles,
		},
		{
			ID: "UDS-013", Level: Should, Phase: Last, Needs: []Need{NeedProcess, NeedKey},
			Title: "does not print granted credentials",
			Rule:  spec("Logging", "Plugins SHOULD NOT write potentially sensitive data to logs (e.g. secrets)."),
			Why:   "the quoted text uses SHOULD NOT",
			Fix:   "redact the fields with the option cosi_secret wherever the driver logs a message",
			Run:   runPrintedSecrets,
		},
		{
			ID: "UDS-014", Level: Must, Phase: Process, Needs: []Need{NeedProcess},
			Title: "has no settings of its own whose names begin with COSI_",
			Rule: spec("Supervised lifecycle: environment variables", "Configuration properties not defined by the COSI specification "+
				"SHALL NOT use the same COSI_ name prefix; this prefix is reserved for common configuration properties defined by the COSI specification."),
			Why: "the quoted text uses SHALL NOT",
			Fix: "rename the environment variables of the driver",
			Run: runVariableNames,
		},
		{
			ID: "UDS-015", Level: Should, Phase: Process, Needs: []Need{NeedProcess},
			Title: "works without a kubeconfig and without a service account token",
			Rule: kep("DriverDeleteBucket", "DriverDeleteBucketRequest { bucket_id, parameters: { // copied from Bucket.parameters } }: "+
				"the request contains everything that a driver needs"),
			Why: "requests contain the parameters, so a driver need not read from Kubernetes; nothing forbids it",
			Fix: "read everything from the request and the driver's configuration, nothing from the Kubernetes API",
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
			c.Fail("the driver printed the value of the field %s of a response", field)
		}
	}
}

var variablePattern = regexp.MustCompile(`\bCOSI_[A-Z0-9_]+`)

func runVariableNames(c *C) {
	allowed := []string{endpointVariable}
	help, _, _ := c.attemptStart([]string{"--help"}, endpointVariable+"="+unixScheme+filepath.Join(c.suite.driver.work, "help.sock"))
	for _, name := range variablePattern.FindAllString(help, -1) {
		if !slices.Contains(allowed, name) {
			c.Fail("--help mentions the variable %s; the prefix COSI_ is reserved for the specification", name)
		}
	}
	for _, variable := range slices.Concat(c.suite.config.ImageEnvironment, c.suite.config.Environment) {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, cosiPrefix) && !slices.Contains(allowed, name) {
			c.Fail("the driver is configured by the variable %s; the prefix COSI_ is reserved for the specification", name)
		}
	}
}
