// SPDX-License-Identifier: Apache-2.0

//go:build s3only

package up

import (
	"context"
	"log/slog"
)

// clouds returns what starts the one store of a cooper that is built without the SDKs of the others.
func clouds() []func(context.Context, Options, *slog.Logger) (*store, error) {
	return []func(context.Context, Options, *slog.Logger) (*store, error){startS3}
}
