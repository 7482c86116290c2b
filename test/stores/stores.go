// Package stores gives tests two independent implementations of S3: rclone's, which keeps objects in files, and
// Ceph's gateway.
package stores

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/postflight-dev/postflight/internal/store/objectstore"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/tier"
)

// The credentials of all servers.
const (
	AccessKey = "AKIAIOSFODNN7EXAMPLE"
	SecretKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// The second user of a server with policies has no rights until a policy grants some.
const (
	NarrowUser      = "narrow"
	NarrowAccessKey = "AKIAI44QH8DHBEXAMPLE"
)

// Server is an object store that a test has started.
type Server struct {
	Name    string
	Address string

	// Policies reports whether policies grant rights to users.
	Policies bool

	// Expired is the status for an expired URL: 403 at Amazon and Ceph, 400 at rclone.
	Expired int

	bucket string
}

// Each runs a test on every store, which then finds the credentials in its environment.
func Each(t *testing.T, test func(*testing.T, Server)) {
	t.Run("Rclone", func(t *testing.T) {
		Credentials(t)
		test(t, Rclone(t))
	})
	t.Run("Ceph", func(t *testing.T) {
		tier.All(t, "the gate has one store")
		Credentials(t)
		test(t, Ceph(t))
	})
}

// Credentials puts those of all servers into the environment.
func Credentials(t testing.TB) {
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
}

// Options are those of a bucket in the store.
func (s Server) Options() objectstore.Options {
	return objectstore.Options{Endpoint: s.Address, Region: "us-east-1", Bucket: cmp.Or(s.bucket, "postflight"), PathStyle: true,
		UploadLifetime: time.Minute}
}

// Bucket creates the bucket, and waits until it can be used.
func (s Server) Bucket(t testing.TB) *objectstore.Bucket {
	t.Helper()
	bucket := Open(t, s.Options())
	ctx := log.IntoContext(t.Context(), logr.Discard())
	go func() { _ = (&objectstore.Watcher{Bucket: bucket, CreateBucket: true}).Start(ctx) }()
	alone, _ := http.NewRequest(http.MethodGet, "/store", nil)
	poll.Until(t, "the bucket can be used", func() string {
		if err := bucket.Ready(alone); err != nil {
			return err.Error()
		}
		return ""
	})
	return bucket
}

// Open returns a bucket, and sends no request.
func Open(t testing.TB, o objectstore.Options) *objectstore.Bucket {
	t.Helper()
	bucket, err := objectstore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

func skipLoudly(t testing.TB, reason string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "\n*** %s was NOT run: %s.\n\n", t.Name(), reason)
	t.Skipf("SKIPPED: %s", reason)
}

// Rclone is the embedded store: the gate's, which all packages share, or the test's own.
func Rclone(t testing.TB) Server {
	t.Helper()
	s := Server{Name: "rclone", Expired: http.StatusBadRequest}
	if dir := apiserver.Shared(); dir != "" {
		address, err := os.ReadFile(filepath.Join(dir, addressFile))
		if err != nil {
			t.Fatal(err)
		}
		s.Address, s.bucket = string(address), "test-"+string(uuid.NewUUID())
		return s
	}
	address := freeport.Address(t)
	cmd, err := rclone(address, t.TempDir())
	if err != nil {
		skipLoudly(t, err.Error())
	}
	run(t, filepath.Join(t.TempDir(), "log"), cmd)
	s.Address = "http://" + address
	return waitFor(t, s)
}

// cephConfig is a cluster of one monitor and one OSD, which keeps objects in memory. The monitor, which keeps a few megabytes on disk, would
// stop on a disk that is 95% full, however large it is.
const cephConfig = `[global]
fsid = %[1]s
mon host = [v2:%[2]s,v1:%[3]s]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 8589934592
mon allow pool size one = true
mon data avail warn = 2
mon data avail crit = 1
mon data = %[4]s/mon
osd data = %[4]s/osd
run dir = %[4]s
admin socket = %[4]s/$name.asok
pid file = %[4]s/$name.pid
log file = %[4]s/$name.log
keyring = %[4]s/keyring
`

// Ceph is radosgw, from the packages radosgw, ceph-mon and ceph-osd of Debian.
func Ceph(t testing.TB) Server {
	t.Helper()
	for _, program := range []string{"radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool", "ceph-authtool"} {
		if _, err := exec.LookPath(program); err != nil {
			skipLoudly(t, "there is no "+program+"; apt-get install --no-install-recommends radosgw ceph-mon ceph-osd")
		}
	}
	// Sockets have short names, and test names are long.
	dir, err := os.MkdirTemp("", "pf-ceph-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	fsid, v2, v1, gateway := string(uuid.NewUUID()), freeport.Address(t), freeport.Address(t), freeport.Address(t)
	config, keyring := filepath.Join(dir, "ceph.conf"), filepath.Join(dir, "keyring")
	if err := os.WriteFile(config, fmt.Appendf(nil, cephConfig, fsid, v2, v1, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(name string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	for i, name := range []string{"mon.", "client.admin", "client.rgw", "osd.0"} {
		args := []string{keyring, "--gen-key", "-n", name, "--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *"}
		if i == 0 {
			args = append(args, "--create-keyring")
		}
		call("ceph-authtool", args...)
	}
	monmap := filepath.Join(dir, "monmap")
	call("monmaptool", "--create", "--addv", "a", fmt.Sprintf("[v2:%s,v1:%s]", v2, v1), "--fsid", fsid, monmap)
	for _, folder := range []string{"mon", "osd"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	call("ceph-mon", "-c", config, "-i", "a", "--mkfs", "--monmap", monmap, "--keyring", keyring)
	start(t, filepath.Join(dir, "mon.out"), "ceph-mon", "-c", config, "-i", "a", "-f")
	call("ceph", "-c", config, "--connect-timeout", "30", "osd", "create")
	call("ceph-osd", "-c", config, "-i", "0", "--mkfs")
	start(t, filepath.Join(dir, "osd.out"), "ceph-osd", "-c", config, "-i", "0", "-f")
	start(t, filepath.Join(dir, "rgw.out"), "radosgw", "-c", config, "-n", "client.rgw", "-f", "--keyring="+keyring, "--rgw-frontends",
		"beast endpoint="+gateway)
	s := waitFor(t, Server{Name: "ceph", Address: "http://" + gateway, Expired: http.StatusForbidden, Policies: true})
	for user, key := range map[string]string{"postflight": AccessKey, NarrowUser: NarrowAccessKey} {
		call("radosgw-admin", "-c", config, "user", "create", "--uid="+user, "--display-name="+user, "--access-key="+key,
			"--secret-key="+SecretKey)
	}
	return s
}

func start(t testing.TB, output string, name string, args ...string) {
	t.Helper()
	run(t, output, exec.Command(name, args...))
}

func run(t testing.TB, output string, cmd *exec.Cmd) {
	t.Helper()
	out, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out.Close()
		if text, _ := os.ReadFile(output); t.Failed() && len(text) > 0 {
			t.Logf("%s:\n%s", cmd.Path, text[max(0, len(text)-2000):])
		}
	})
}

func waitFor(t testing.TB, s Server) Server {
	t.Helper()
	poll.True(t, s.Name+" answers", func() bool { return answers(s.Address) })
	return s
}

func answers(address string) bool {
	resp, err := http.Get(address)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return true
}
