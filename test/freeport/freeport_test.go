package freeport

import (
	"net"
	"testing"
)

// TestAddress: each is free, another one, and none that the kernel may give to a connection.
func TestAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		address := Address(t)
		if seen[address] {
			t.Fatalf("%s came twice", address)
		}
		seen[address] = true
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if port := listener.Addr().(*net.TCPAddr).Port; port < first || port >= end {
			t.Errorf("port %d", port)
		}
	}
}
