// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import "errors"

func possible() error { return errors.New("a node needs Linux") }

func inside(int, func() error) error { return errors.New("a node needs Linux") }
