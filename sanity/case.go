// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"cmp"
	"fmt"
	"slices"
)

// Level is the requirement level of a case.
type Level int

const (
	// Must means that the KEP or the specification requires it. One failed Must case makes a driver non-conformant.
	Must Level = iota
	// Should means that the KEP or the specification recommends it, or requires it in the common case.
	Should
	// Advice is not in a specification. It is based on experience with drivers.
	Advice
)

// String returns "MUST", "SHOULD" or "ADVICE".
func (l Level) String() string {
	switch l {
	case Must:
		return "MUST"
	case Should:
		return "SHOULD"
	case Advice:
		return "ADVICE"
	default:
		return fmt.Sprintf("Level(%d)", int(l))
	}
}

// Rule is the sentence that a case checks, with its source.
type Rule struct {
	// Text is the quoted sentence, or the suite's own sentence for cases of level Advice.
	Text string
	// Source names the document and its section.
	Source string
}

// Need is a prerequisite of a case. It is determined from the driver and the configuration, never by the case itself.
type Need int

const (
	// NeedProcess: the suite starts the driver itself.
	NeedProcess Need = iota
	// NeedDataPlane: there is a prober for the protocol under test, with usable credentials.
	NeedDataPlane
	// NeedInventory: the configuration can list the resources in the backend.
	NeedInventory
	// NeedFixture: the configuration can create a bucket out of band.
	NeedFixture
	// NeedForeignBucket: the fixture can create a bucket with another owner.
	NeedForeignBucket
	// NeedBackendFaults: the configuration can take the backend down.
	NeedBackendFaults
	// NeedRefusedLogin: the configuration can make the backend reject the driver's credentials.
	NeedRefusedLogin
	// NeedIncompatible: the configuration has parameters that do not match an existing bucket.
	NeedIncompatible
	// NeedInvalid: the configuration has invalid bucket parameters.
	NeedInvalid
	// NeedInvalidAccess: the configuration has invalid access parameters.
	NeedInvalidAccess
	// NeedS3, NeedAzure and NeedGCS: DriverGetInfo lists the protocol.
	NeedS3
	// NeedAzure: see NeedS3.
	NeedAzure
	// NeedGCS: see NeedS3.
	NeedGCS
	// NeedMissingProtocol: there is a protocol that DriverGetInfo does not list.
	NeedMissingProtocol
	// NeedKey: the driver grants with authentication type KEY.
	NeedKey
	// NeedOwnCredential: every access has its own credential, which ends with the access.
	NeedOwnCredential
	// NeedServiceAccount: the driver grants with authentication type SERVICE_ACCOUNT.
	NeedServiceAccount
	// NeedRotation: the configuration declares that the driver supports the field rotation.
	NeedRotation
	// NeedUsage: the number of open files of the driver's process can be read.
	NeedUsage
	// NeedNonEmptyPolicy: the configuration declares how the driver deletes a bucket that contains data.
	NeedNonEmptyPolicy
	// NeedKeptModes: DriverGetInfo reports that the driver enforces disallowed access modes.
	NeedKeptModes
	// NeedUnkeptModes: DriverGetInfo reports that the driver does not enforce disallowed access modes.
	NeedUnkeptModes
	// NeedCreation: the driver creates buckets.
	NeedCreation
	// NeedChangeable: DriverGetInfo lists changeable parameters, and the configuration has other values of them.
	NeedChangeable
)

// Phase determines which cases may run concurrently with a case.
type Phase int

const (
	// Parallel cases use only their own buckets and accounts.
	Parallel Phase = iota
	// Alone is for cases that compare the whole backend before and after, or disturb it.
	Alone
	// Process is for cases that stop and start the driver.
	Process
	// Last is for cases that evaluate everything observed during the run.
	Last
)

// Case is one check. All fields except Run are data for reports, --list and --explain.
type Case struct {
	// ID is stable and unique, such as "BKT-CRT-003".
	ID string
	// Level is the requirement level of the case, and Why is the reason for that level.
	Level Level
	Why   string
	// Title describes the behavior of a conforming driver in one line.
	Title string
	// Rule is the sentence that the case is based on.
	Rule Rule
	// Fix is the change that the driver's author should make if the case fails.
	Fix string
	// Needs lists the prerequisites; without them the case is not applicable.
	Needs []Need
	// Phase determines which cases may run concurrently.
	Phase Phase
	// Run checks a driver. It reports through its argument.
	Run func(*C)
}

// CasesOf returns all cases of a contract, in the order in which they are listed.
func CasesOf(contract Contract) []Case {
	if contract == V1Alpha1 {
		return v1alpha1Cases()
	}
	return Cases()
}

// Cases returns all cases of V1Alpha2, in the order in which they are listed.
func Cases() []Case {
	return slices.Concat(
		processCases(), processEnvironmentCases(), messageCases(), errorCases(), identityCases(),
		bucketIDCases(), createCases(), createRetryCases(), updateCases(), getCases(), deleteCases(),
		accessIDCases(), grantCases(), grantModeCases(), grantLimitCases(), grantRetryCases(), revokeCases(), lifecycleCases(),
	)
}

// Chapter returns the part of a case's ID that identifies its topic, such as "BKT-CRT".
func (c Case) Chapter() string {
	if len(c.ID) < 4 {
		return c.ID
	}
	return c.ID[:len(c.ID)-4]
}

func byID(a, b Result) int { return cmp.Compare(a.Case.ID, b.Case.ID) }

// Rules from the two specifications, and the suite's own rules where both define none.
func kep(section, text string) Rule {
	return Rule{Text: text, Source: "KEP-1979 v1alpha2, section " + section}
}

func spec(section, text string) Rule {
	return Rule{Text: text, Source: "COSI specification v1alpha1, section " + section}
}

func advice(text string) Rule { return Rule{Text: text, Source: "advice from this suite"} }
