package apiserver

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

const certificates = "certificates"

// keeper ensures that no process outlives the test binary, however that ends: a panic, os.Exit, the
// timeout of go test, Ctrl-C, kill -9. envtest stops its processes only on request. A shell reads from a
// pipe whose other end only the test binary holds. When that ends, the shell kills what is left, and
// removes the directory.
type keeper struct {
	dir   string
	shell *exec.Cmd
	pipe  io.Closer
}

// keep ignores the signals of the terminal, so that it outlives the test binary.
const keep = `trap "" INT TERM HUP QUIT
cat >/dev/null
for pid in "$0"/*.pid; do
	test -e "$pid" && kill -9 "$(cat "$pid")" 2>/dev/null
done
rm -rf "$0" || { sleep 1; rm -rf "$0"; }`

// run writes the process id, and becomes the binary. What that logs is read if it does not start.
const run = `#!/bin/sh
echo $$ >'%s'
exec '%s' "$@" 2>>"$0.log"
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
	for _, name := range []string{"etcd-data", certificates} {
		if err := os.Mkdir(k.path(name), 0o700); err != nil {
			return nil, err
		}
	}
	return k, k.shell.Start()
}

func (k *keeper) path(name string) string { return filepath.Join(k.dir, name) }

func (k *keeper) wrapper(name string) string { return k.path("run-" + name) }

// endOfLog is what a process of the directory logged last.
func endOfLog(dir, process string) string {
	log, err := os.ReadFile(filepath.Join(dir, "run-"+process+".log"))
	if err != nil {
		return err.Error()
	}
	const enough = 4 << 10 // 20 lines or so
	return fmt.Sprintf("%s logged last:\n%s", process, log[max(0, len(log)-enough):])
}

// release removes the ids of ended processes, which may now belong to others.
func (k *keeper) release() error {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		_ = os.Remove(k.path(name + ".pid"))
	}
	_ = k.pipe.Close()
	return k.shell.Wait()
}
