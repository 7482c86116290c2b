package listen

import (
	"container/list"
	"net"
	"net/netip"
)

// connSet holds connections by group, the oldest first.
type connSet struct {
	count  int
	seq    uint64                // of the last connection that was added
	groups map[string]*list.List // none is empty
}

func newConnSet() connSet { return connSet{groups: map[string]*list.List{}} }

func (s *connSet) add(c *conn, group string) {
	c.leave()
	members := s.groups[group]
	if members == nil {
		members = list.New()
		s.groups[group] = members
	}
	element := members.PushBack(c)
	s.count++
	s.seq++
	c.seq = s.seq
	c.leave = func() {
		c.leave = func() {}
		s.count--
		if members.Remove(element); members.Len() == 0 {
			delete(s.groups, group)
		}
	}
}

// oldestOfLargest returns the oldest connection that may accepts (nil: any), of the largest group that has one.
func (s *connSet) oldestOfLargest(may func(*conn) bool) (victim *conn) {
	largest := 0
	for _, members := range s.groups {
		if members.Len() < largest {
			continue
		}
		c := oldest(members, may)
		if c != nil && (members.Len() > largest || c.seq < victim.seq) {
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

// addressGroup is an IPv4 address, or an IPv6 /64, because one client usually has all of its addresses.
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
