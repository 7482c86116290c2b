package queue_test

import "github.com/postflight-dev/postflight/test/suites"

var (
	t0            = suites.T0
	aSuite        = suites.ASuite
	inState       = suites.InState
	withJob       = suites.WithJob
	ofTrigger     = suites.OfTrigger
	anEnvironment = suites.AnEnvironment
	withPolicy    = suites.WithPolicy
	inEnvironment = suites.InEnvironment
	notifiedBy    = suites.NotifiedBy
	keyed         = suites.WithKey
	settleIn      = suites.SettleIn
	after         = suites.After
	rerunBy       = suites.RerunBy
	burst         = suites.Burst
	notifiedAgain = suites.NotifiedAgain
	awaiting      = suites.Awaiting
	isSuccessor   = suites.IsSuccessor
)
