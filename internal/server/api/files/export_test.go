package files

// NoRun is what a pod without a run is told.
var NoRun = errNoRun.Message
