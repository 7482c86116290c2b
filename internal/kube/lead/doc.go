// Package lead elects one of several replicas, which does for a term what only one may do.
//
//	candidate := &lead.Candidate{Lock: lock, Timing: lead.NewTiming(6 * time.Second), Lead: func(ctx context.Context) error {
//		term := lead.NewTerm(mgr)
//		if err := controllers.Setup(term, config); err != nil {
//			return err
//		}
//		return term.Run(ctx)
//	}}
//	err := mgr.Add(candidate)
//
// A process that loses the lead continues with everything else, and stands for election again. controller-runtime's own
// election ends the process instead, because its controllers cannot be started twice.
package lead
