package fairness

import "sync"

// otherTeams stands for all teams that came later.
const otherTeams = "other"

// Labels bounds the label "team", whose values cost memory. The first teams keep theirs, so that no counter restarts.
type Labels struct {
	most int

	mu    sync.Mutex
	names map[string]bool
}

// NewLabels returns Labels for so many teams.
func NewLabels(most int) *Labels { return &Labels{most: most, names: map[string]bool{}} }

// Of returns the value for a team. An unknown team is otherTeams, and uses up no value.
func (b *Labels) Of(team string) string {
	if team == "" {
		return otherTeams
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.names[team] && len(b.names) >= b.most {
		return otherTeams
	}
	b.names[team] = true
	return team
}
