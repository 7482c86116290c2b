package fairness

import "sync"

// OtherTeams stands for all teams that came later.
const OtherTeams = "other"

// Labels bounds the values of the label "team" of metrics, because each one costs memory here and in Prometheus. The first
// teams get a value of their own, for as long as the process lives, so that no counter starts again.
type Labels struct {
	most int

	mu    sync.Mutex
	names map[string]bool
}

// NewLabels returns Labels for so many teams.
func NewLabels(most int) *Labels { return &Labels{most: most, names: map[string]bool{}} }

// Of is the value for a team. Where the team is not known, it is OtherTeams, and takes no place.
func (b *Labels) Of(team string) string {
	if team == "" {
		return OtherTeams
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.names[team] && len(b.names) >= b.most {
		return OtherTeams
	}
	b.names[team] = true
	return team
}
