package view

// Lead is the first sentence of a page, with the key of a state.
type Lead struct{ Key, Text string }

// Tick is a label of an axis.
type Tick struct {
	X     float64 // in percent
	Label string
}
