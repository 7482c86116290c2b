package signin

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxPeople bounds the cache. Beyond it, the provider is asked more often.
const maxPeople = 4096

type peopleCache struct {
	mu      sync.Mutex
	byToken map[string]checked // by the hash of the token
}

type checked struct {
	person Person
	err    error
	until  time.Time
}

func (c *peopleCache) get(token string, now time.Time) (known checked, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok = c.byToken[keyOf(token)]
	return known, ok && now.Before(known.until)
}

func (c *peopleCache) put(token string, answer checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byToken) >= maxPeople {
		clear(c.byToken)
	}
	c.byToken[keyOf(token)] = answer
}

func keyOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return string(sum[:])
}
