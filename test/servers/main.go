// Command servers runs a command beside what the tests of all packages share: an API server with its etcd, and an object store.
//
//	bin/servers go test ./...
//
// The command finds their directory in $POSTFLIGHT_TEST_SERVERS. They end with it, however it ends.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/freeport"
	"github.com/postflight-dev/postflight/test/stores"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: servers COMMAND [ARGUMENT]...")
		os.Exit(2)
	}
	err := beside(os.Args[1:])
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(max(1, exit.ExitCode()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

// beside runs the command while the servers run.
func beside(command []string) (err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	dir, stop, err := apiserver.Serve()
	if stop != nil {
		defer func() { err = errors.Join(err, stop()) }()
	}
	if err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	address, err := freeport.Find()
	if err != nil {
		return err
	}
	stopStore, err := stores.Serve(dir, address)
	if stopStore != nil {
		defer func() { err = errors.Join(err, stopStore()) }()
	}
	if err != nil {
		return fmt.Errorf("start the store: %w", err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), apiserver.SharedVariable+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals { // the servers end after the command
			_ = cmd.Process.Signal(s)
		}
	}()
	return cmd.Wait()
}
