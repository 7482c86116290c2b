package inputs_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
)

// The credentials of the servers under test.
const (
	accessKey = "AKIAIOSFODNN7EXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// server is an object store that a test has started.
type server struct {
	name    string
	address string
	// expired is the status for a URL that is: 403 at Amazon and Ceph, 400 at rclone.
	expired int
}

// rootFolder is the project's, seen from this package's, which tests run in.
func rootFolder() string { return filepath.Join("..", "..") }

// skipLoudly must not be taken for success.
func skipLoudly(t *testing.T, reason string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "\n*** %s was NOT run: %s.\n\n", t.Name(), reason)
	t.Skipf("SKIPPED: %s", reason)
}

// startRclone is the embedded store, which keeps objects in files.
func startRclone(t *testing.T) server {
	t.Helper()
	binary := filepath.Join(rootFolder(), "bin", "store")
	if _, err := os.Stat(binary); err != nil {
		skipLoudly(t, "there is no bin/store; make assets builds it")
	}
	address := freeAddress(t)
	run(t, filepath.Join(t.TempDir(), "log"), []string{
		`RCLONE_AUTH_KEY="` + accessKey + "," + secretKey + `"`, "RCLONE_CONFIG=" + filepath.Join(t.TempDir(), "none"),
		"RCLONE_CACHE_DIR=" + t.TempDir(),
	}, binary, "serve", "s3", "--addr", address, t.TempDir())
	return waitFor(t, server{name: "rclone", address: "http://" + address, expired: http.StatusBadRequest})
}

// cephConfig is a cluster of one monitor and one OSD, which keeps objects in memory.
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
mon data = %[4]s/mon
osd data = %[4]s/osd
run dir = %[4]s
admin socket = %[4]s/$name.asok
pid file = %[4]s/$name.pid
log file = %[4]s/$name.log
keyring = %[4]s/keyring
`

// startCeph is radosgw, from the packages radosgw, ceph-mon and ceph-osd of Debian.
func startCeph(t *testing.T) server {
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
	t.Cleanup(func() { os.RemoveAll(dir) })
	fsid, v2, v1, gateway := string(uuid.NewUUID()), freeAddress(t), freeAddress(t), freeAddress(t)
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
	run(t, filepath.Join(dir, "mon.out"), nil, "ceph-mon", "-c", config, "-i", "a", "-f")
	call("ceph", "-c", config, "--connect-timeout", "30", "osd", "create")
	call("ceph-osd", "-c", config, "-i", "0", "--mkfs")
	run(t, filepath.Join(dir, "osd.out"), nil, "ceph-osd", "-c", config, "-i", "0", "-f")
	run(t, filepath.Join(dir, "rgw.out"), nil, "radosgw", "-c", config, "-n", "client.rgw", "-f", "--keyring="+keyring, "--rgw-frontends", "beast endpoint="+gateway)
	s := waitFor(t, server{name: "ceph", address: "http://" + gateway, expired: http.StatusForbidden})
	call("radosgw-admin", "-c", config, "user", "create", "--uid=postflight", "--display-name=postflight", "--access-key="+accessKey, "--secret-key="+secretKey)
	return s
}

// run starts a program that ends with the test.
func run(t *testing.T, log string, env []string, name string, args ...string) {
	t.Helper()
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out.Close()
		if text, _ := os.ReadFile(log); t.Failed() && len(text) > 0 {
			t.Logf("%s:\n%s", name, text[max(0, len(text)-2000):])
		}
	})
}

// taken keeps two servers of one test from getting the same port.
var taken sync.Map

func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		listener.Close()
		if _, used := taken.LoadOrStore(address, true); !used {
			return address
		}
	}
}

func waitFor(t *testing.T, s server) server {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if resp, err := http.Get(s.address); err == nil {
			resp.Body.Close()
			return s
		}
	}
	t.Fatalf("%s does not answer", s.name)
	return s
}
