package events

// EventChunk is eventChunk.
const EventChunk = eventChunk

// NoEvents is what a sender is told where no events are taken.
var NoEvents = errNoEvents.Message

// Budgets are those of sources that have verified no event lately, and of the others.
func (a *API) Budgets() [2]*bodyBudget { return [2]*bodyBudget{a.unverified, a.reserved} }

// SetSize changes how many bytes the bodies may take.
func (b *bodyBudget) SetSize(bytes int64) { b.size = bytes }

// State returns how many bytes the bodies take, how many there are, and of how many namespaces.
func (b *bodyBudget) State() (bytes int64, bodies, namespaces int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all, len(b.arriving), len(b.namespaces)
}
