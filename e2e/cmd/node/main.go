// SPDX-License-Identifier: Apache-2.0

// Command node runs a Kubernetes cluster with one node on this machine until the command is stopped. It
// leaves nothing on the machine except the cgroup settings that package e2e/node documents. With -images it
// loads Cooper's images from archives that hack/images has written. With -build it only builds the
// executables.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cooper-cosi/cooper/e2e/node"
	"github.com/cooper-cosi/cooper/e2e/node/binaries"
)

func main() {
	// A new flag set, because controller-runtime adds flags to the global one.
	flags := flag.NewFlagSet("node", flag.ExitOnError)
	images := flags.String("images", "", "directory with archives of images for the node")
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig file, which exists as long as the node; empty means a file in the node's directory")
	build := flags.Bool("build", false, "build the node's files without starting a node")
	_ = flags.Parse(os.Args[1:]) // exits on error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *images, *kubeconfig, *build)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, images, kubeconfig string, build bool) (err error) {
	if build {
		dir, err := binaries.Find(ctx, binaries.Options{Progress: os.Stderr})
		if err == nil {
			fmt.Println("node:", dir)
		}
		return err
	}
	log.SetLogger(logr.Discard()) // avoids a warning of controller-runtime
	began := time.Now()
	n, err := node.Start(ctx, node.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	if err := n.LoadImages(ctx, images); err != nil {
		return err
	}
	// In a directory that is writable for others, the path could be a link created by another user.
	kubeconfig = cmp.Or(kubeconfig, filepath.Join(n.Dir(), "admin.kubeconfig"))
	if err := n.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	defer os.Remove(kubeconfig)
	fmt.Printf("The node is ready after %v. In another shell:\n  export KUBECONFIG=%s\n  %s get nodes\n"+
		"Its logs are in %s. Ctrl-C stops it, and removes everything\n"+
		"except, on cgroup v2, the controllers that it enabled in /sys/fs/cgroup/cgroup.subtree_control.\n",
		time.Since(began).Round(time.Second), kubeconfig, n.ControlPlane().Kubectl(), n.LogDir())
	<-ctx.Done()
	return nil
}
