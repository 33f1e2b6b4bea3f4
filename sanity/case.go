// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"cmp"
	"fmt"
	"slices"
)

// Level says how binding a case is.
type Level int

const (
	// Must: the KEP or the specification requires it. One failed Must case makes a driver
	// non-conformant.
	Must Level = iota
	// Should: the texts recommend it, or say it of the common case.
	Should
	// Advice: in no text; what experience with drivers suggests.
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

// Rule is the sentence that a case checks and where it stands.
type Rule struct {
	// Text is the sentence, quoted, or our own for cases of level Advice.
	Text string
	// Source names the document and its section.
	Source string
}

// Need is something a case cannot do without. Whether it is there is decided by looking at the
// driver and the configuration, never by the case itself.
type Need int

const (
	// NeedProcess: the suite starts the driver itself.
	NeedProcess Need = iota
	// NeedDataPlane: a prober for the protocol under test, and credentials it can use.
	NeedDataPlane
	// NeedInventory: the configuration says how to list what exists in the backend.
	NeedInventory
	// NeedFixture: the configuration says how to make a bucket out of band.
	NeedFixture
	// NeedForeignBucket: the fixture can make a bucket that belongs to somebody else.
	NeedForeignBucket
	// NeedBackendFaults: the configuration says how to take the backend down.
	NeedBackendFaults
	// NeedRefusedLogin: the configuration says how to make the backend refuse the driver.
	NeedRefusedLogin
	// NeedIncompatible: the configuration has parameters that do not fit an existing bucket.
	NeedIncompatible
	// NeedInvalid: the configuration has invalid bucket parameters.
	NeedInvalid
	// NeedInvalidAccess: the configuration has invalid access parameters.
	NeedInvalidAccess
	// NeedS3, NeedAzure and NeedGCS: DriverGetInfo names the protocol.
	NeedS3
	// NeedAzure is described at NeedS3.
	NeedAzure
	// NeedGCS is described at NeedS3.
	NeedGCS
	// NeedMissingProtocol: there is a protocol that DriverGetInfo does not name.
	NeedMissingProtocol
	// NeedKey: the driver grants with authentication type KEY.
	NeedKey
	// NeedOwnCredential: every access has a credential of its own, that ends with it.
	NeedOwnCredential
	// NeedServiceAccount: the driver grants with authentication type SERVICE_ACCOUNT.
	NeedServiceAccount
	// NeedRotation: the configuration says that the driver knows the field rotation.
	NeedRotation
	// NeedUsage: the number of open files of the driver's process can be read.
	NeedUsage
	// NeedNonEmptyPolicy: the configuration says what the driver does with a bucket that holds data.
	NeedNonEmptyPolicy
	// NeedKeptModes: DriverGetInfo announces that the driver keeps disallowed access modes.
	NeedKeptModes
	// NeedUnkeptModes: it does not.
	NeedUnkeptModes
	// NeedCreation: the driver makes buckets.
	NeedCreation
)

// Phase says what else may happen at the same time.
type Phase int

const (
	// Parallel cases touch only their own buckets and accounts.
	Parallel Phase = iota
	// Alone is for cases that compare the whole backend before and after, or disturb it.
	Alone
	// Process is for cases that stop and start the driver.
	Process
	// Last is for cases that judge everything seen before.
	Last
)

// Case is one check. All but Run is data for reports, --list and --explain.
type Case struct {
	// ID is stable and unique, such as "BKT-CRT-003".
	ID string
	// Level says how binding the case is, and Why says what in the text decides that.
	Level Level
	Why   string
	// Title says in one line what a conforming driver does.
	Title string
	// Rule is the sentence behind the case.
	Rule Rule
	// Fix tells the author of a driver what to change when the case fails.
	Fix string
	// Needs lists what must be there; without it the case is not applicable.
	Needs []Need
	// Phase says what else may run at the same time.
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
		bucketIDCases(), createCases(), createRetryCases(), getCases(), deleteCases(),
		accessIDCases(), grantCases(), grantModeCases(), grantLimitCases(), grantRetryCases(), revokeCases(), lifecycleCases(),
	)
}

// Chapter returns the part of a case's ID that names what it is about, such as "BKT-CRT".
func (c Case) Chapter() string {
	if len(c.ID) < 4 {
		return c.ID
	}
	return c.ID[:len(c.ID)-4]
}

func byID(a, b Result) int { return cmp.Compare(a.Case.ID, b.Case.ID) }

// The two texts, and our own word where both are silent.
func kep(section, text string) Rule {
	return Rule{Text: text, Source: "KEP-1979 v1alpha2, section " + section}
}

func spec(section, text string) Rule {
	return Rule{Text: text, Source: "COSI specification v1alpha1, section " + section}
}

func advice(text string) Rule { return Rule{Text: text, Source: "advice of this suite"} }
