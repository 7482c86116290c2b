// Package teamlabel bounds the values of the label "team" of metrics: each one costs memory here and in Prometheus.
package teamlabel

import "sync"

// Other stands for all teams that came later.
const Other = "other"

// Bound gives the first teams their own value, for as long as the process lives, so that no counter starts again.
type Bound struct {
	most int

	mu    sync.Mutex
	names map[string]bool
}

// New is a Bound of so many teams.
func New(most int) *Bound { return &Bound{most: most, names: map[string]bool{}} }

// Of is the value for a team. Where the team is not known, it is Other, and takes no place.
func (b *Bound) Of(team string) string {
	if team == "" {
		return Other
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.names[team] && len(b.names) >= b.most {
		return Other
	}
	b.names[team] = true
	return team
}
