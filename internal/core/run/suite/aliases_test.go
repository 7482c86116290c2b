package suite_test

import "github.com/postflight-dev/postflight/test/suites"

var (
	t0            = suites.T0
	aSuite        = suites.ASuite
	aTrigger      = suites.ATrigger
	anEnvironment = suites.AnEnvironment
	restored      = suites.Restored
)
