// Package peers runs programs of other projects on what Postflight gives them: Argo Rollouts on the analysis of a verdict, Kueue on Jobs
// for other clusters, and policy engines on signed verdicts. Its benchmarks play what Kueue and Tekton do beside Postflight. hack/peers.sh
// builds the programs.
package peers
