package signin

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxPeople bounds the people who are remembered. Beyond it, the provider is asked more often.
const maxPeople = 4096

// peopleCache remembers what the provider said of a token.
type peopleCache struct {
	mu      sync.Mutex
	byToken map[string]checked // by the hash of the token
}

type checked struct {
	person Person
	until  time.Time
}

func (c *peopleCache) get(token string, now time.Time) (Person, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.byToken[keyOf(token)]
	return known.person, ok && now.Before(known.until)
}

func (c *peopleCache) put(token string, p Person, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byToken) >= maxPeople {
		clear(c.byToken)
	}
	c.byToken[keyOf(token)] = checked{p, until}
}

func (c *peopleCache) forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byToken, keyOf(token))
}

func keyOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return string(sum[:])
}
