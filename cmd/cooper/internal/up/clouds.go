// SPDX-License-Identifier: Apache-2.0

//go:build !s3only

package up

import (
	"context"
	"log/slog"
)

// clouds returns what starts the store of each cloud.
func clouds() []func(context.Context, Options, *slog.Logger) (*store, error) {
	return []func(context.Context, Options, *slog.Logger) (*store, error){startS3, startAzure, startGCS}
}
