package reconcile

import (
	"time"
)

// Spread is by how much waits vary, so that runs that wait for one host do not come back at the same instant.
const Spread = 0.1

// ReconcileTimeout frees a worker from an API server, or a store, that does not answer. It is longer than any
// useful answer takes.
const ReconcileTimeout = 2 * time.Minute

// StaleRetry is when to look again if the cache is behind.
const StaleRetry = 50 * time.Millisecond
