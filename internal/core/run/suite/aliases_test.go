package suite_test

import "github.com/postflight-dev/postflight/test/suites"

var (
	t0            = suites.T0
	aSuite        = suites.ASuite
	deleted       = suites.Deleted
	aTrigger      = suites.ATrigger
	anEnvironment = suites.AnEnvironment
	branch        = suites.WithBranch
	keyed         = suites.WithKey
	restored      = suites.Restored
)
