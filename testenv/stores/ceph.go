// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/internal/freeport"
)

// Ceph is a small Ceph cluster in processes: a monitor, an in-memory OSD, and a RADOS Gateway. Its programs
// come from the distribution, since they cannot be built from a Go module.
type Ceph struct {
	dir, endpoint, secure string
	options               CephOptions
	// daemons are in start order.
	daemons []*daemon
	ports   []freeport.Port
}

// CephUser is a user of the gateway with a key.
type CephUser struct {
	AccessKey, SecretKey string
}

// cephPrograms are the required programs.
func cephPrograms() []string {
	return []string{"ceph", "monmaptool", "ceph-mon", "ceph-osd", "radosgw", "radosgw-admin"}
}

// FindCeph returns nil if the programs are installed. Otherwise the error wraps fs.ErrNotExist and says how to
// install them.
func FindCeph() error {
	for _, program := range cephPrograms() {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("cannot find %s: %w; on Debian, run apt-get install --no-install-recommends ceph-mon ceph-osd radosgw", program, fs.ErrNotExist)
		}
	}
	return nil
}

// CephVersion returns the version of the gateway, such as 16.2.15.
func CephVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "radosgw", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("get the version of Ceph: %w", err)
	}
	words := strings.Fields(string(out)) // ceph version 16.2.15 (...) pacific (stable)
	if len(words) < 3 {
		return "", fmt.Errorf("get the version of Ceph: unexpected output %q", out)
	}
	return words[2], nil
}

// CephOptions configure a Ceph.
type CephOptions struct {
	// Directory is the directory for all files. It must be empty, and the caller removes it. Required.
	Directory string
	// Address is the address of the gateway, such as 127.0.0.1:8080. The default is a free port on this host.
	Address string
	// Certificate and Key, if set, are PEM files. The gateway then also serves TLS on another port.
	Certificate, Key string
	// Placement, if set, is a placement target for buckets in addition to default-placement.
	Placement string
}

// StartCeph starts a Ceph and returns when its gateway responds. The caller must call Close.
func StartCeph(ctx context.Context, options CephOptions) (*Ceph, error) {
	c := &Ceph{dir: options.Directory, endpoint: options.Address, options: options}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start Ceph: %w", err), c.Close())
	}
	return c, nil
}

// start starts the daemons in order. The gateway waits for the OSD.
func (c *Ceph) start(ctx context.Context) error {
	monitor, err := c.configure()
	if err != nil {
		return err
	}
	id := uuid.NewString()
	steps := []func() error{
		func() error {
			return c.run(ctx, "monmaptool", "--create", "--fsid", cephFSID, "--addv", "a", "["+monitor+"]", c.path("monmap"))
		},
		func() error { return c.run(ctx, "ceph-mon", "--mkfs", "-i", "a", "--monmap", c.path("monmap")) },
		func() error { return c.launch("ceph-mon", "-f", "-i", "a") },
		func() error { return c.run(ctx, "ceph", "--connect-timeout", "60", "osd", "new", id) },
		func() error { return c.run(ctx, "ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", id) },
		func() error { return c.launch("ceph-osd", "-f", "-i", "0") },
		func() error { return c.addPlacement(ctx) },
		func() error { return c.launch("radosgw", "-f", "-n", "client.rgw.a") },
		func() error { return c.await(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

const cephFSID = "11111111-2222-3333-4444-555555555555"

// cephConfig configures the smallest possible Ceph. Authentication is disabled, so connections must not be
// encrypted (ms_mon_client_mode); otherwise the gateway waits for encryption until it times out.
var cephConfig = template.Must(template.New("").Parse(`[global]
fsid = ` + cephFSID + `
mon_host = [{{.Monitor}}]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
run_dir = {{.Dir}}
crash_dir = {{.Dir}}
admin_socket =
log_file = {{.Dir}}/$name.log
pid_file =
mon_data = {{.Dir}}/mon
osd_data = {{.Dir}}/osd
rgw_data = {{.Dir}}/rgw
osd_objectstore = memstore
memstore_device_bytes = 2147483648
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 2
osd_pool_default_pgp_num = 2
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 2000
mon_data_avail_warn = 1
mon_data_avail_crit = 1
auth_allow_insecure_global_id_reclaim = true
rgw_rados_pool_pg_num_min = 2
rgw_frontends = beast tcp_nodelay=1 endpoint={{.Gateway}}{{if .TLS.Certificate}} ssl_endpoint={{.Secure}} ssl_certificate={{.TLS.Certificate}} ssl_private_key={{.TLS.Key}}{{end}}
rgw_thread_pool_size = 16
rgw_override_bucket_index_max_shards = 1
rgw_usage_max_shards = 1
rgw_gc_max_objs = 1
rgw_lc_max_objs = 1
rgw_data_log_num_shards = 1
rgw_md_log_max_shards = 1
rgw_num_control_oids = 1
`))

// configure writes the configuration and returns the monitor's address.
func (c *Ceph) configure() (string, error) {
	var monitor string
	for address, needed := range map[*string]bool{&monitor: true, &c.endpoint: c.endpoint == "", &c.secure: c.options.Certificate != ""} {
		if !needed {
			continue
		}
		port, err := freeport.Reserve()
		if err != nil {
			return "", err
		}
		c.ports = append(c.ports, port)
		*address = port.Address()
	}
	for _, name := range []string{"mon", "osd", "rgw"} {
		if err := os.Mkdir(c.path(name), 0o700); err != nil {
			return "", fmt.Errorf("create the directories of Ceph: %w", err)
		}
	}
	var text bytes.Buffer
	values := struct {
		Dir, Monitor, Gateway, Secure string
		TLS                           CephOptions
	}{c.dir, "v2:" + monitor, c.endpoint, c.secure, c.options}
	if err := cephConfig.Execute(&text, values); err != nil {
		return "", fmt.Errorf("write the configuration of Ceph: %w", err)
	}
	if err := os.WriteFile(c.Configuration(), text.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("write the configuration of Ceph: %w", err)
	}
	c.endpoint = "http://" + c.endpoint
	return values.Monitor, nil
}

func (c *Ceph) path(name string) string { return filepath.Join(c.dir, name) }

// command returns a command for a Ceph program with this configuration instead of the machine's.
func (c *Ceph) command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Env = append(os.Environ(), "CEPH_CONF="+c.Configuration(), "CEPH_ARGS=")
	return cmd
}

func (c *Ceph) run(ctx context.Context, program string, arguments ...string) error {
	if out, err := c.command(ctx, program, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("run %s %s: %w: %s", program, strings.Join(arguments, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// addPlacement must run before the gateway starts, which reads the zone once. The placement uses the default
// pools.
func (c *Ceph) addPlacement(ctx context.Context) error {
	if c.options.Placement == "" {
		return nil
	}
	for _, arguments := range [][]string{
		{"user", "list"}, // the first command creates the zone and its group
		{"zonegroup", "placement", "add", "--rgw-zonegroup=default", "--placement-id=" + c.options.Placement},
		{
			"zone", "placement", "add", "--rgw-zone=default", "--placement-id=" + c.options.Placement,
			"--data-pool=default.rgw.buckets.data", "--index-pool=default.rgw.buckets.index", "--data-extra-pool=default.rgw.buckets.non-ec",
		},
	} {
		if _, err := c.Admin(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the gateway responds, or with an error if it has exited.
func (c *Ceph) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	gateway := c.daemons[len(c.daemons)-1]
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint, http.NoBody)
		if err != nil {
			return fmt.Errorf("create a request to the gateway: %w", err)
		}
		if response, err := direct.Do(request); err == nil {
			return response.Body.Close()
		}
		select {
		case <-gateway.done:
			return fmt.Errorf("the gateway has exited: %s", gateway.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("the gateway does not respond: %w: %s", ctx.Err(), gateway.lastWords())
		case <-ticker.C:
		}
	}
}

// URL is the endpoint of the gateway.
func (c *Ceph) URL() string { return c.endpoint }

// SecureURL is the TLS endpoint, if a certificate is configured.
func (c *Ceph) SecureURL() string { return "https://" + c.secure }

// Configuration is the path of the configuration file, for CEPH_CONF.
func (c *Ceph) Configuration() string { return c.path("ceph.conf") }

// MakeUser creates a user, "tenant$name" or just a name, with capabilities such as "users=*;user-policy=*".
func (c *Ceph) MakeUser(ctx context.Context, id, capabilities string) (CephUser, error) {
	out, err := c.Admin(ctx, "user", "create", "--uid="+id, "--display-name="+id, "--caps="+capabilities)
	if err != nil {
		return CephUser{}, err
	}
	var made struct {
		Keys []struct {
			ID     string `json:"access_key"`
			Secret string `json:"secret_key"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(out, &made); err != nil {
		return CephUser{}, fmt.Errorf("read the user %s: %w", id, err)
	}
	if len(made.Keys) == 0 {
		return CephUser{}, fmt.Errorf("radosgw-admin created the user %s without a key", id)
	}
	return CephUser{AccessKey: made.Keys[0].ID, SecretKey: made.Keys[0].Secret}, nil
}

// Admin runs radosgw-admin and returns its output.
func (c *Ceph) Admin(ctx context.Context, arguments ...string) ([]byte, error) {
	cmd := c.command(ctx, "radosgw-admin", arguments...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run radosgw-admin %s: %w: %s", strings.Join(arguments, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return out, nil
}

// Close ends all processes, the gateway first, and returns when they have exited.
func (c *Ceph) Close() error {
	var problems []error
	for _, one := range slices.Backward(c.daemons) {
		problems = append(problems, one.stop())
	}
	for _, port := range c.ports {
		problems = append(problems, port.Release())
	}
	return errors.Join(problems...)
}

// daemon is a child in its own process group, so that Ctrl-C in the terminal reaches only the parent.
type daemon struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

func (c *Ceph) launch(program string, arguments ...string) error {
	log, err := os.Create(c.path(program + ".out"))
	if err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	defer log.Close()
	cmd := c.command(context.Background(), program, arguments...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	d := &daemon{cmd: cmd, log: log.Name(), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		_ = cmd.Wait() // its log shows how it ended
	}()
	c.daemons = append(c.daemons, d)
	return nil
}

// stop kills the process. A graceful stop would take seconds, and there is no data to preserve.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", d.cmd.Path, err)
	}
	<-d.done
	return nil
}

func (d *daemon) lastWords() string {
	text, err := os.ReadFile(d.log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-2000):]))
}
