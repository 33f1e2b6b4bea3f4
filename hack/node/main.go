// SPDX-License-Identifier: Apache-2.0

// Command node runs a Kubernetes cluster with one node on this machine until it is
// told to end, and leaves no trace but what testenv/node says. With -images it has the images of Cooper, as in
// archives of hack/images. With -build it only builds what it would start.
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

	"github.com/cooper-cosi/cooper/testenv/node"
	"github.com/cooper-cosi/cooper/testenv/node/binaries"
)

func main() {
	// controller-runtime has put its own into the flags of the process.
	flags := flag.NewFlagSet("node", flag.ExitOnError)
	images := flags.String("images", "", "directory with archives of images, which the node gets")
	kubeconfig := flags.String("kubeconfig", "", "file for kubectl, which is there as long as the node; empty means one in the node's own directory")
	build := flags.Bool("build", false, "build what a node needs, and start none")
	_ = flags.Parse(os.Args[1:]) // it ends the process
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
	log.SetLogger(logr.Discard()) // of controller-runtime, which complains otherwise
	began := time.Now()
	n, err := node.Start(ctx, node.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Stop()) }()
	if err := n.LoadImages(ctx, images); err != nil {
		return err
	}
	// In a directory that others write to, somebody could have put a link there.
	kubeconfig = cmp.Or(kubeconfig, filepath.Join(n.Dir(), "admin.kubeconfig"))
	if err := n.WriteKubeconfig(kubeconfig); err != nil {
		return err
	}
	defer os.Remove(kubeconfig)
	fmt.Printf("The node is ready after %v. In another shell:\n  export KUBECONFIG=%s\n  %s get nodes\n"+
		"Logs of its parts are in %s. Ctrl-C ends it, and leaves nothing,\n"+
		"but on cgroup v2 the controllers that it had to enable in /sys/fs/cgroup/cgroup.subtree_control.\n",
		time.Since(began).Round(time.Second), kubeconfig, n.ControlPlane().Kubectl(), n.LogDir())
	<-ctx.Done()
	return nil
}
