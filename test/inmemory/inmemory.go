// Package inmemory has connections that are no sockets, so that servers and their clients can be tested by the clock of
// testing/synctest.
package inmemory

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// Listener is a server's end of a network that has nothing else.
type Listener struct {
	name   string
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// Listen returns a listener of that host and port.
func Listen(name string) *Listener {
	return &Listener{name: name, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial returns once the connection was accepted. It is the DialContext of an http.Transport.
func (l *Listener) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address != l.name {
		return nil, refused(network)
	}
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, refused(network)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func refused(network string) error {
	return &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return, and refuses connections.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr is the name of the listener.
func (l *Listener) Addr() net.Addr { return address(l.name) }

// Network is servers by their hosts and ports.
type Network map[string]*Listener

// Listen adds one.
func (n Network) Listen(name string) *Listener {
	n[name] = Listen(name)
	return n[name]
}

// Dial is the DialContext of an http.Transport.
func (n Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if l := n[address]; l != nil {
		return l.Dial(ctx, network, address)
	}
	return nil, refused(network)
}

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }
