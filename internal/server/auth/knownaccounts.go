package auth

import (
	"crypto/sha256"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/internal/core/access/serviceaccount"
	"github.com/postflight-dev/postflight/internal/fairness"
)

const (
	// maxAccounts bounds the tokens whose answers are kept, and maxAccountsOfNamespace the share of one namespace: with 4 KiB each, 8 MiB and
	// 1 MiB. More hooks hardly run within serviceaccount.ReviewedFor; if they do, the API server is asked about them again.
	maxAccounts            = 2048
	maxAccountsOfNamespace = 256
	// maxRights bounds the rights that are known of a token: three verbs in the namespaces of five teams.
	maxRights = 16
)

// right is to do something with the Suites of a namespace.
type right struct{ namespace, verb string }

type decision struct {
	allowed bool
	until   time.Time
}

// knownAccount is what the API server said about a token.
type knownAccount struct {
	serviceaccount.Account
	group   string // that pays for reviews
	id      [sha256.Size]byte
	expires time.Time // of the token
	until   time.Time // what was said counts no longer, also about rights

	mu     sync.Mutex
	rights map[right]decision
}

func (a *knownAccount) allows(r right, now time.Time) (allowed, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	got := a.rights[r]
	return got.allowed, now.Before(got.until)
}

func (a *knownAccount) learn(r right, allowed bool, asked time.Time) {
	until := a.until
	if !allowed {
		until = asked.Add(serviceaccount.RefusedFor)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rights == nil || len(a.rights) >= maxRights {
		a.rights = map[right]decision{}
	}
	a.rights[r] = decision{allowed, until}
}

type knownAccounts struct {
	byToken *fairness.Cache[[sha256.Size]byte, *knownAccount] // by hash
}

func newKnownAccounts() *knownAccounts {
	return &knownAccounts{fairness.NewCache[[sha256.Size]byte, *knownAccount](maxAccounts, maxAccountsOfNamespace)}
}

// get returns nil if the API server has to be asked.
func (k *knownAccounts) get(namespace string, id [sha256.Size]byte, now time.Time) *knownAccount {
	found, ok := k.byToken.Get(namespace, id)
	if !ok || !now.Before(found.until) {
		return nil
	}
	return found
}

func (k *knownAccounts) add(namespace string, id [sha256.Size]byte, a *knownAccount) {
	k.byToken.Add(namespace, id, a)
}
