package lifecycle_test

import "github.com/postflight-dev/postflight/test/suites"

type outcomes = suites.Outcomes

var (
	t0             = suites.T0
	aSuite         = suites.ASuite
	inState        = suites.InState
	withJob        = suites.WithJob
	deleted        = suites.Deleted
	commit         = suites.WithCommit
	canceled       = suites.Canceled
	scheduled      = suites.Scheduled
	ofTrigger      = suites.OfTrigger
	aTrigger       = suites.ATrigger
	anEnvironment  = suites.AnEnvironment
	aTeam          = suites.ATeam
	withPolicy     = suites.WithPolicy
	branch         = suites.WithBranch
	inEnvironment  = suites.InEnvironment
	notifiedBy     = suites.NotifiedBy
	keyed          = suites.WithKey
	aLedger        = suites.ALedger
	failedRun      = suites.FailedRun
	onlyFailedOf   = suites.OnlyFailedOf
	passedRun      = suites.PassedRun
	withMinTests   = suites.WithMinTests
	skips          = suites.Skips
	settleIn       = suites.SettleIn
	after          = suites.After
	rerunBy        = suites.RerunBy
	burst          = suites.Burst
	restored       = suites.Restored
	notifiedAgain  = suites.NotifiedAgain
	awaiting       = suites.Awaiting
	shop           = suites.Shop
	isSuccessor    = suites.IsSuccessor
	aFailedRequest = suites.AFailedRequest
)
