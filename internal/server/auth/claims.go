package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/internal/core/job"
)

// clockSlack is how far the clocks of this machine and the API server may differ.
const clockSlack = 5 * time.Minute

// mayBeGood reports whether a token claims to be an unexpired JWT for this audience: others are refused without asking the API server.
func mayBeGood(token string, now time.Time) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || slices.Contains(parts, "") {
		return false
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	var claims struct {
		Audience audience `json:"aud"`
		Expires  float64  `json:"exp"` // in seconds
	}
	return decodePart(parts[0], &header) && header.Algorithm != "" && header.Algorithm != "none" && decodePart(parts[1], &claims) &&
		slices.Contains(claims.Audience, job.TokenAudience) && claims.Expires > float64(now.Add(-clockSlack).Unix())
}

func decodePart(part string, into any) bool {
	content, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(content, into) == nil
}

// audience is a list or a single string.
type audience []string

func (a *audience) UnmarshalJSON(content []byte) error {
	var one string
	if err := json.Unmarshal(content, &one); err == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(content, (*[]string)(a))
}

type refusedTokens struct {
	mu    sync.Mutex
	until map[[sha256.Size]byte]time.Time
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
	r.until[sha256.Sum256([]byte(token))] = now.Add(refusedFor)
}
