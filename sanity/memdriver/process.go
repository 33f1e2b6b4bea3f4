// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	unixScheme = "unix://"
	maxPath    = 107
	helpText   = `usage: memdriver

COSI_ENDPOINT        address to listen on, such as unix:///run/cosi/cosi.sock
`
)

// Program is one run of the driver as a process, real or simulated.
type Program struct {
	Driver Options
	// Environment is the environment as KEY=value, and Arguments the arguments after the program's name.
	Environment []string
	Arguments   []string
	// Directory is the working directory.
	Directory string
	Output    io.Writer

	mu     sync.Mutex
	killed bool
	leaked int
	files  []string
}

// Run serves until the context ends, and returns the exit code. Ending the context is equivalent to SIGTERM.
func (p *Program) Run(ctx context.Context) int {
	if len(p.Arguments) > 0 && p.Arguments[0] == "--help" {
		help := helpText
		if p.has(ReservedVariable) {
			help += "COSI_MEMORY_TIER     default tier\n"
		}
		_, _ = io.WriteString(p.Output, help)
		return 0
	}
	path, err := p.path()
	if err != nil {
		_, _ = fmt.Fprintln(p.Output, err)
		return 1
	}
	if err := p.serve(ctx, path); err != nil {
		_, _ = fmt.Fprintln(p.Output, err)
		return 1
	}
	if p.has(FailsOnTerminate) {
		return 3
	}
	return 0
}

func (p *Program) has(defect Defect) bool { return p.Driver.Defects[defect] }

// path reads and checks the address.
func (p *Program) path() (string, error) {
	endpoint := ""
	for _, variable := range p.Environment {
		if value, found := strings.CutPrefix(variable, "COSI_ENDPOINT="); found {
			endpoint = value
		}
	}
	path, isUnix := strings.CutPrefix(endpoint, unixScheme)
	switch {
	case endpoint == "" && p.has(HangsWithoutEndpoint), !isUnix && endpoint != "" && p.has(AcceptsTCP):
		return filepath.Join(p.Directory, "hidden.sock"), nil
	case endpoint == "":
		return "", errors.New("COSI_ENDPOINT is empty: set it to an address such as unix:///run/cosi/cosi.sock")
	case !isUnix:
		return "", fmt.Errorf("COSI_ENDPOINT=%s: only UNIX sockets are supported, such as unix:///run/cosi/cosi.sock", endpoint)
	case !strings.HasSuffix(path, ".sock") && !p.has(AcceptsAnySuffix):
		return "", fmt.Errorf("COSI_ENDPOINT=%s: the path must end with .sock", endpoint)
	case len(path) > maxPath && p.has(ShortensPath):
		return filepath.Join(p.Directory, "short.sock"), nil
	case len(path) > maxPath:
		return "", fmt.Errorf("COSI_ENDPOINT: the path has %d bytes, more than %d", len(path), maxPath)
	case p.has(ListensElsewhere):
		return filepath.Join(p.Directory, "elsewhere.sock"), nil
	}
	return path, nil
}

func (p *Program) serve(ctx context.Context, path string) error {
	if !p.has(KeepsStaleSocket) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the stale socket: %w", err)
		}
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	mode := os.FileMode(0o660)
	if p.has(OpenSocket) {
		mode = 0o666
	}
	if err := errors.Join(os.Chmod(path, mode), p.besides(path)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := p.Driver
	options.Log = slog.New(slog.NewTextHandler(p.Output, nil))
	server := p.server(New(options), cancel)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	<-ctx.Done()
	return p.stop(server, listener, path, stopped)
}

func (p *Program) server(driver *Driver, cancel func()) *grpc.Server {
	options := []grpc.ServerOption{grpc.ChainUnaryInterceptor(p.count)}
	if p.has(EndsWithClient) {
		options = append(options, grpc.StatsHandler(endOfConnection{end: cancel}))
	}
	if p.has(CatchesUnknownMethods) {
		options = append(options, grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			_ = stream.RecvMsg(&emptypb.Empty{})
			return status.Error(codes.Internal, "no idea what this is")
		}))
	}
	return driver.NewServer(options...)
}

// besides creates the files that defects leave next to the socket and in the working directory.
func (p *Program) besides(path string) error {
	var err error
	if p.has(NeighbourFile) {
		err = os.WriteFile(filepath.Join(filepath.Dir(path), "driver.lock"), nil, 0o600)
	}
	if p.has(LogsToFile) {
		file := filepath.Join(p.Directory, "driver.log")
		err = errors.Join(err, os.WriteFile(file, []byte("started\n"), 0o600))
		p.mu.Lock()
		p.files = append(p.files, file)
		p.mu.Unlock()
	}
	return err
}

// stop shuts down gracefully, unless the program was killed.
func (p *Program) stop(server *grpc.Server, listener net.Listener, path string, stopped <-chan error) error {
	p.mu.Lock()
	killed := p.killed
	p.mu.Unlock()
	socket, isUnix := listener.(*net.UnixListener)
	if isUnix && (killed || p.has(LeavesSocket)) {
		socket.SetUnlinkOnClose(false)
	}
	if killed {
		server.Stop()
		<-stopped //nolint:errcheck // why it ended is known
		return nil
	}
	limit := time.AfterFunc(5*time.Second, server.Stop)
	defer limit.Stop()
	server.GracefulStop()
	if err := <-stopped; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve %s: %w", path, err)
	}
	return nil
}

// count implements the leak defect, which leaves something behind with every call.
func (p *Program) count(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if p.has(LeaksDescriptors) {
		p.mu.Lock()
		p.leaked++
		p.mu.Unlock()
	}
	return handle(ctx, request)
}

// endOfConnection ends the program when the first connection ends.
type endOfConnection struct{ end func() }

func (endOfConnection) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (endOfConnection) HandleRPC(context.Context, stats.RPCStats)                       {}
func (endOfConnection) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (e endOfConnection) HandleConn(_ context.Context, event stats.ConnStats) {
	if _, ended := event.(*stats.ConnEnd); ended {
		e.end()
	}
}

func randomText(n int) string { return strings.ToLower(rand.Text())[:n] }
