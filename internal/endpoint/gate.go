package endpoint

import "github.com/prometheus/client_golang/prometheus"

// gate bounds how many are inside. Who finds it full is turned away at once: to queue would only
// make the clients' time-outs do the turning away.
type gate struct {
	slots  chan struct{}
	inside prometheus.Gauge
}

func newGate(size int, inside prometheus.Gauge) gate {
	return gate{slots: make(chan struct{}, size), inside: inside}
}

func (g gate) enter() bool {
	select {
	case g.slots <- struct{}{}:
		g.inside.Inc()
		return true
	default:
		return false
	}
}

func (g gate) leave() {
	<-g.slots
	g.inside.Dec()
}
