package serve

import (
	"container/list"
	"net"
	"net/netip"
)

// crowd holds connections by group, the oldest first.
type crowd struct {
	count  int
	joined uint64                // how many ever joined
	groups map[string]*list.List // none is empty
}

func newCrowd() crowd { return crowd{groups: map[string]*list.List{}} }

func (w *crowd) add(c *conn, group string) {
	c.leave()
	members := w.groups[group]
	if members == nil {
		members = list.New()
		w.groups[group] = members
	}
	element := members.PushBack(c)
	w.count++
	w.joined++
	c.joined = w.joined
	c.leave = func() {
		c.leave = func() {}
		w.count--
		if members.Remove(element); members.Len() == 0 {
			delete(w.groups, group)
		}
	}
}

// victim is the oldest that may go, of the largest group that has one; nil means that any may.
func (w *crowd) victim(may func(*conn) bool) (victim *conn) {
	largest := 0
	for _, members := range w.groups {
		if members.Len() < largest {
			continue
		}
		c := oldest(members, may)
		if c != nil && (members.Len() > largest || c.joined < victim.joined) {
			victim, largest = c, members.Len()
		}
	}
	return victim
}

func oldest(members *list.List, may func(*conn) bool) *conn {
	for e := members.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); may == nil || may(c) {
			return c
		}
	}
	return nil
}

// addressGroup is an IPv4 address, or the network of an IPv6 one: whoever has one has all 2^64 of it.
func addressGroup(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	address := tcp.AddrPort().Addr().Unmap()
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address.WithZone(""), 64).Masked().String()
}
