// Package peers runs programs of other projects on what Postflight gives them: Argo Rollouts on the analysis of a verdict, and
// policy engines on signed verdicts. hack/peers.sh builds the programs.
package peers
