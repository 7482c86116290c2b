package listen

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestTotal: where all connections are busy, another waits.
func TestTotal(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}), make(chan struct{})
	r := bounded(t, func(w http.ResponseWriter, r *http.Request) {
		Authenticated(r.Context(), "a")
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
		}
		select {
		case <-leave:
		default:
			t.Error("a connection too many is answered")
		}
		hello(w, r)
	}, Bounds{Unproven: 2, Idle: 2, Total: 2})
	statuses := make(chan int, 3)
	for range 2 {
		c := r.dial("127.0.0.1")
		go func() { statuses <- get(t, c, "/slow") }()
		<-entered
	}
	third := r.dial("127.0.0.1")
	go func() { statuses <- get(t, third, "/") }()
	if r.limiter().admit(newConn(third, r.limiter())) {
		t.Error("a connection too many is admitted")
	}
	close(leave)
	for range 3 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("status %d, want 200", status)
		}
	}
}

func TestMayClose(t *testing.T) {
	for name, tc := range map[string]struct {
		age, released    time.Duration // since the first byte, and since the handler returned, if it has
		reading, request bool
		want             bool
	}{
		"It has just begun.":             {age: 0, reading: true, want: false},
		"The rest does not come.":        {age: gracePeriod, reading: true, want: true},
		"The server has not read it.":    {age: time.Hour, want: false},
		"It is being answered.":          {age: time.Hour, request: true, want: false},
		"The server reads ahead.":        {age: time.Hour, request: true, reading: true, want: false},
		"The client may read the error.": {age: time.Hour, released: gracePeriod, want: true},
		"It has just been refused.":      {age: 0, released: 1, want: false},
		"Its handler has just returned.": {age: time.Hour, released: 1, request: true, want: false},
		"The rest of its body is slow.":  {age: time.Hour, released: gracePeriod, request: true, reading: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &conn{}
				c.firstByte.Store(time.Now().Add(-tc.age).UnixNano())
				c.reading.Store(tc.reading)
				c.requestRead.Store(tc.request)
				if tc.released > 0 {
					c.released.Store(time.Now().Add(-tc.released).UnixNano())
				}
				if got := mayClose(c); got != tc.want {
					t.Errorf("it may be closed: %t, want %t", got, tc.want)
				}
			})
		})
	}
}

func TestAddressGroup(t *testing.T) {
	cases := map[string]struct {
		a, b string
		same bool
	}{
		"one IPv4 address":        {"192.0.2.1", "192.0.2.1", true},
		"two IPv4 addresses":      {"192.0.2.1", "192.0.2.2", false},
		"one as IPv6":             {"192.0.2.1", "::ffff:192.0.2.1", true},
		"one network of IPv6":     {"2001:db8::1", "2001:db8::ffff:1", true},
		"two networks of IPv6":    {"2001:db8::1", "2001:db8:0:1::1", false},
		"IPv4 and IPv6 are apart": {"192.0.2.1", "2001:db8::1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a, b := addressGroup(&net.TCPAddr{IP: net.ParseIP(tc.a), Port: 1}), addressGroup(&net.TCPAddr{IP: net.ParseIP(tc.b), Port: 2})
			if (a == b) != tc.same {
				t.Errorf("groups %s and %s", a, b)
			}
		})
	}
}
