package stores

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

// addressFile is where Serve writes the address.
const addressFile = "store-address"

// Serve starts the embedded store for other processes, at the address, and writes that into their directory of servers.
func Serve(dir, address string) (stop func() error, err error) {
	cmd, err := rclone(address, filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := filepath.Join(dir, "store.pid") // for the keeper of the directory
	stop = func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return os.Remove(pid) // it may soon be that of another process
	}
	return stop, errors.Join(
		os.WriteFile(pid, fmt.Append(nil, cmd.Process.Pid), 0o600),
		os.WriteFile(filepath.Join(dir, addressFile), []byte("http://"+address), 0o600),
		poll.Wait(poll.Limit, "the store answers", func() string {
			if !answers("http://" + address) {
				return "no answer at " + address
			}
			return ""
		}),
	)
}

// rclone keeps the objects in a folder, which it creates.
func rclone(address, folder string) (*exec.Cmd, error) {
	root, err := apiserver.Root()
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(root, "bin", "store")
	if _, err := os.Stat(binary); err != nil {
		return nil, errors.New("there is no bin/store; make assets builds it")
	}
	data := filepath.Join(folder, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "serve", "s3", "--addr", address, data)
	cmd.Env = append(os.Environ(), `RCLONE_AUTH_KEY="`+AccessKey+","+SecretKey+`"`,
		"RCLONE_CONFIG="+filepath.Join(folder, "none"), "RCLONE_CACHE_DIR="+filepath.Join(folder, "cache"))
	return cmd, nil
}
