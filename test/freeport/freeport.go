// Package freeport finds addresses for the servers of tests.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
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
	given = map[string]bool{}
)

// Address is one of this machine that nobody listens on. It is no other test's of this process, and hardly one of
// another process.
func Address(t testing.TB) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		listener.Close()
		if !given[address] {
			given[address] = true
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
