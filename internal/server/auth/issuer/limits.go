package issuer

import "time"

// Anyone can send tokens, and issuers may fail. These limits bound what both cost.
const (
	// fetchEvery is the least pause between requests for the keys of an issuer, whatever tokens come. Issuers publish keys before they
	// use them, so that a token of a newer key is rare.
	fetchEvery = 10 * time.Second

	// fetchTimeout bounds both requests of a fetch together. Each also has the shorter timeout of the outbound client.
	fetchTimeout = 15 * time.Second

	// refreshAfter is how long keys are used before they are fetched again: a key that an issuer withdraws works so much longer.
	refreshAfter = 15 * time.Minute

	// keepFor is how long keys work while the issuer is unavailable: an outage of a working day's half stops no pipeline whose CI runs
	// elsewhere, and a withdrawn key does not work for ever.
	keepFor = 6 * time.Hour

	maxWaiting = 64 // requests that wait for the keys of an issuer, each with a connection of an unknown sender
	maxKeys    = 64 // GitHub has three, clusters of servers perhaps a dozen

	minRSABits = 2048 // shorter ones are not safe
	maxRSABits = 8192 // longer ones take milliseconds to verify

	maxIssuers  = 32   // each takes memory for its keys, and a request every refreshAfter
	maxCompiled = 4096 // TrustPolicies whose expressions are kept compiled; each takes some 20 KiB
	maxProblem  = 300  // of the text of an error of an issuer, in bytes: it may quote a whole answer
)
