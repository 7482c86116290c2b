package apiserver

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// keeper makes sure that nothing outlives the test binary, however that ends: a panic, a test that
// calls os.Exit, the time-out of go test, Ctrl-C, kill -9. envtest stops its processes only when asked
// to. A shell waits for the end of a pipe whose other end only the test binary holds, then kills what
// is left and removes the directory.
type keeper struct {
	dir   string
	shell *exec.Cmd
	pipe  io.Closer
}

// keep ignores what the terminal sends to all, so that it is there when the test binary is gone.
const keep = `trap "" INT TERM HUP QUIT
cat >/dev/null
for pid in "$0"/*.pid; do
	test -e "$pid" && kill -9 "$(cat "$pid")" 2>/dev/null
done
rm -rf "$0" || { sleep 1; rm -rf "$0"; }`

// run leaves the process id, which the binary keeps.
const run = `#!/bin/sh
echo $$ >'%s'
exec '%s' "$@"
`

func newKeeper(assets string) (*keeper, error) {
	dir, err := os.MkdirTemp("", "postflight-apiserver-")
	if err != nil {
		return nil, err
	}
	k := &keeper{dir: dir, shell: exec.Command("sh", "-c", keep, dir)}
	if k.pipe, err = k.shell.StdinPipe(); err != nil {
		return nil, err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		script := fmt.Sprintf(run, k.path(name+".pid"), filepath.Join(assets, name))
		if err := os.WriteFile(k.wrapper(name), []byte(script), 0o700); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"etcd-data", "certificates"} {
		if err := os.Mkdir(k.path(name), 0o700); err != nil {
			return nil, err
		}
	}
	return k, k.shell.Start()
}

func (k *keeper) path(name string) string { return filepath.Join(k.dir, name) }

func (k *keeper) wrapper(name string) string { return k.path("run-" + name) }

// release is for after the processes were stopped: their ids may be others' by now.
func (k *keeper) release() error {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		_ = os.Remove(k.path(name + ".pid"))
	}
	_ = k.pipe.Close()
	return k.shell.Wait()
}
