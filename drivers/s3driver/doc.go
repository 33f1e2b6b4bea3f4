// SPDX-License-Identifier: Apache-2.0

// Package s3driver is the COSI driver for S3. It manages buckets through the S3 API. It manages accounts through the
// API that each type of store provides for them, such as IAM or an admin API.
//
// Config lists the stores, called backends. New creates the driver, which driverkit serves. The driver stores data
// only at the stores and in the credential store.
package s3driver

//go:generate env COOPER_UPDATE=1 go test -count=1 -run ^TestReference$ .
