package auth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
)

// maxRefused is how many refused tokens are remembered.
const maxRefused = 4096

// refusedTokens are not checked again for a while.
type refusedTokens struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
}

func newRefusedTokens() refusedTokens {
	return refusedTokens{until: map[[sha256.Size]byte]time.Time{}}
}

func (r *refusedTokens) has(token string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until[sha256.Sum256([]byte(token))])
}

func (r *refusedTokens) add(token string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.until) >= maxRefused {
		clear(r.until)
	}
	r.until[sha256.Sum256([]byte(token))] = now.Add(serviceaccount.RefusedFor)
}
