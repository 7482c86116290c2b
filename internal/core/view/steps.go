package view

// Steps are what a team does before its first run, and which of them are done.
type Steps struct {
	Environment, Trigger, Run bool
}

// StepsOf is how far a team has come.
func StepsOf(environment, trigger, run bool) Steps { return Steps{environment, trigger, run} }
