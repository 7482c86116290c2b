package state

import (
	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// rows are in the order of v1alpha1.States.
//
// CDEvents and code hosts count a timeout as a failure: it says something about what was deployed.
var rows = []Row{
	{
		Reason: v1alpha1.ReasonQueued, Phase: v1alpha1.ReportQueued, Label: "Queued", Key: "queued",
		Icon:   `<circle cx="10" cy="10" r="7.5" stroke-dasharray="3.2 2.7"/><path d="M10 6v4l2.6 1.7"/>`,
		Colors: Colors{"#8a6d1a", "#f8f0d9", "#d8b64c", "#2f2812"},
		Weight: 4,
	},
	{
		Reason: v1alpha1.ReasonStarting, Phase: v1alpha1.ReportInProgress, Label: "Starting", Key: "starting",
		Icon: `<circle cx="10" cy="10" r="7.5" stroke-dasharray=".1 3.83" stroke-width="2.4"/>` +
			`<circle cx="10" cy="10" r="2.6" fill="currentColor" stroke="none"/>`,
		Colors: Colors{"#0e7c86", "#dff2f3", "#56c2cc", "#11302f"},
		Weight: 4,
	},
	{
		Reason: v1alpha1.ReasonRunning, Phase: v1alpha1.ReportInProgress, Label: "Running", Key: "running",
		Icon:   `<circle cx="10" cy="10" r="7.5" opacity=".25"/><path class="arc" d="M10 2.5a7.5 7.5 0 0 1 7.5 7.5"/>`,
		Colors: Colors{"#2563c9", "#e6eefc", "#79a8ff", "#17233f"},
		Weight: 4,
	},
	{
		Reason: v1alpha1.ReasonPassed, Phase: v1alpha1.ReportCompleted, Label: "Passed", Key: "passed",
		Icon: `<circle cx="10" cy="10" r="8.5" fill="currentColor" stroke="none"/>` +
			`<path class="cut" d="m6.3 10.3 2.5 2.5 5-5.3" stroke="#fff"/>`,
		Colors: Colors{"#1f7a4d", "#e3f3ea", "#5fc88f", "#163024"},
		Weight: 0, Conclusion: Success, Green: true, Result: true, TestsDecided: true,
		Outcome: "Passed", CDEvent: "success", Trace: "success",
		Figure: func(p *httpapi.InsightsPeriod) *int { return &p.Passed },
	},
	{
		Reason: v1alpha1.ReasonFailed, Phase: v1alpha1.ReportCompleted, Label: "Failed", Key: "failed",
		Icon: `<circle cx="10" cy="10" r="8.5" fill="currentColor" stroke="none"/>` +
			`<path class="cut" d="m7 7 6 6m0-6-6 6" stroke="#fff"/>`,
		Colors: Colors{"#c4342d", "#fdeae9", "#ff7b72", "#3a1c1b"},
		Weight: 5, Conclusion: Failure, Result: true, Bad: true, TestsDecided: true,
		Outcome: "Failed", CDEvent: "failure", Trace: "failure",
		Figure: func(p *httpapi.InsightsPeriod) *int { return &p.Failed },
	},
	{
		Reason: v1alpha1.ReasonTimedOut, Phase: v1alpha1.ReportCompleted, Label: "Timed out", Key: "timedout",
		Icon: `<path d="M5 2.5h10M5 17.5h10M6.2 2.5v2.8c0 2.2 3.8 3 3.8 4.7s-3.8 2.5-3.8 4.7v2.8` +
			`M13.8 2.5v2.8c0 2.2-3.8 3-3.8 4.7s3.8 2.5 3.8 4.7v2.8"/>`,
		Colors: Colors{"#b85c00", "#fcecdc", "#f0a35a", "#38240f"},
		Weight: 5, Conclusion: Timeout, Result: true, Bad: true, GroupedByWhy: true,
		Outcome: "Timed out", CDEvent: "failure", Trace: "timeout", DecidedBy: httpapi.DecidedByTimeout,
		Figure: func(p *httpapi.InsightsPeriod) *int { return &p.TimedOut },
	},
	{
		Reason: v1alpha1.ReasonInconclusive, Phase: v1alpha1.ReportCompleted, Label: "Inconclusive", Key: "inconclusive",
		Icon:   `<circle cx="10" cy="10" r="7.5"/><path d="M7.7 8a2.4 2.4 0 1 1 3.5 2.1c-.8.4-1.2.9-1.2 1.7M10 14.3v.1"/>`,
		Colors: Colors{"#52658f", "#e8ecf5", "#9db0d9", "#222a3a"},
		Weight: 2, Conclusion: Canceled,
		NoVerdict: true, WhyNoVerdict: "something was deployed meanwhile", Gate: "inconclusive", EndShown: Message, GroupedByWhy: true,
		Outcome: "Inconclusive", CDEvent: "error", Trace: "error", DecidedBy: httpapi.DecidedByChange,
	},
	{
		Reason: v1alpha1.ReasonCanceled, Phase: v1alpha1.ReportCompleted, Label: "Canceled", Key: "canceled",
		Icon:   `<circle cx="10" cy="10" r="7.5"/><path d="M4.7 15.3 15.3 4.7"/>`,
		Colors: Colors{"#6d6a64", "#efeeeb", "#9a988f", "#26282b"},
		Weight: 2, Conclusion: Canceled,
		NoVerdict: true, WhyNoVerdict: "it was stopped", Gate: "canceled", EndShown: MessageAndTests,
		Outcome: "Canceled", CDEvent: "cancel", Trace: "cancellation", DecidedBy: httpapi.DecidedByCancellation,
	},
	{
		Reason: v1alpha1.ReasonSuperseded, Phase: v1alpha1.ReportCompleted, Label: "Superseded", Key: "superseded",
		Icon:   `<circle cx="10" cy="10" r="7.5"/><path d="m6.6 11.4 3.4-3.2 3.4 3.2"/>`,
		Colors: Colors{"#6d6a64", "#efeeeb", "#9a988f", "#26282b"},
		Weight: 1, Conclusion: Superseded,
		NoVerdict: true, WhyNoVerdict: "it was stopped", Gate: "canceled",
		Outcome: "Superseded", CDEvent: "cancel", Trace: "skip", DecidedBy: httpapi.DecidedBySupersession,
	},
	{
		Reason: v1alpha1.ReasonError, Phase: v1alpha1.ReportCompleted, Label: "Error", Key: "error",
		Icon:   `<path d="M10 2.6 18.2 16.8H1.8z"/><path d="M10 8v4M10 14.4v.1"/>`,
		Colors: Colors{"#8a3fb0", "#f4e8f9", "#cf95ea", "#2f1f38"},
		Weight: 3, Conclusion: Error, Bad: true, GroupedByWhy: true,
		Outcome: "Could not run", CDEvent: "error", Trace: "error", DecidedBy: httpapi.DecidedByError,
		Figure: func(p *httpapi.InsightsPeriod) *int { return &p.Error },
	},
}
