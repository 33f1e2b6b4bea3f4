// SPDX-License-Identifier: Apache-2.0

package v1alpha2

//go:generate go tool -modfile=../../tools/controller-gen/go.mod controller-gen object crd paths=. output:crd:dir=../../deploy/crds
