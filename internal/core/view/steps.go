package view

// Steps are what a team does before its first run, and which of them are done.
type Steps struct{ Environment, Trigger, Run bool }

// StepsOf returns the steps that a team has done.
func StepsOf(environment, trigger, run bool) Steps { return Steps{environment, trigger, run} }
