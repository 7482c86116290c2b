// Package freeport finds addresses for the servers of tests.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Ports are taken from below those that the kernel hands out to connections, so that they are still free when a server
// starts, or starts again.
const (
	first = 12000
	end   = 32000
)

var (
	mu    sync.Mutex
	given []*os.File // the locks of the ports that this process has given; they last as long as the process
)

// Address is one of this machine that nobody listens on. No other test is given it, of this process or of another.
func Address(t testing.TB) string {
	t.Helper()
	address, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// Find is Address for programs.
func Find() (string, error) {
	mu.Lock()
	defer mu.Unlock()
	claims := filepath.Join(os.TempDir(), "postflight-ports")
	if err := os.MkdirAll(claims, 0o777); err != nil {
		return "", err
	}
	for range 1000 {
		port := first + rand.IntN(end-first)
		claim, err := claim(filepath.Join(claims, strconv.Itoa(port)))
		if err != nil {
			continue // another process has it
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		listener, err := net.Listen("tcp", address)
		if err != nil {
			claim.Close()
			continue
		}
		listener.Close()
		given = append(given, claim)
		return address, nil
	}
	return "", errors.New("no port is free")
}
