package rerun_test

import "github.com/postflight-dev/postflight/test/suites"

type outcomes = suites.Outcomes

var (
	t0             = suites.T0
	aSuite         = suites.ASuite
	inState        = suites.InState
	deleted        = suites.Deleted
	commit         = suites.WithCommit
	canceled       = suites.Canceled
	scheduled      = suites.Scheduled
	ofTrigger      = suites.OfTrigger
	aTrigger       = suites.ATrigger
	anEnvironment  = suites.AnEnvironment
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
	restored       = suites.Restored
	notifiedAgain  = suites.NotifiedAgain
	shop           = suites.Shop
	aFailedRequest = suites.AFailedRequest
)
