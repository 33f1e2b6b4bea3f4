// SPDX-License-Identifier: Apache-2.0

//go:build !s3only

package up

import (
	"context"
	"log/slog"
)

// clouds returns the function that starts each cloud's store.
func clouds() []func(context.Context, Options, *slog.Logger) (*store, error) {
	return []func(context.Context, Options, *slog.Logger) (*store, error){startS3, startAzure, startGCS}
}
