package environment

import (
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// VerdictLook is how a state of a verdict is named and drawn.
type VerdictLook struct {
	view.State
	Icon   string // SVG in a box of 20 by 20; each has its own shape, so that colour is never the only sign
	Colors state.Colors
}

var verdictLooks = func() map[verdict.State]VerdictLook {
	failed := state.Of(v1alpha1.ReasonFailed)
	return map[verdict.State]VerdictLook{
		verdict.Passed:  likeRun(state.Green()),
		verdict.Failed:  likeRun(failed),
		verdict.Running: likeRun(state.Of(v1alpha1.ReasonRunning)),
		verdict.None: {
			State:  view.State{Label: "No result", Key: view.NoRun.Key},
			Icon:   `<circle cx="10" cy="10" r="7.5" opacity=".45"/>`,
			Colors: state.Colors{Light: "#6d6a64", LightSoft: "#efeeeb", Dark: "#9a988f", DarkSoft: "#26282b"},
		},
		verdict.Stale: { // the hands of a clock that goes back
			State:  view.State{Label: "Stale", Key: "stale"},
			Icon:   `<path d="M3.4 11.2a6.8 6.8 0 1 0 1.3-5.4L2.9 8"/><path d="M2.7 3.9 2.9 8l4-.6"/><path d="M10 6.4v3.9l2.6 1.6"/>`,
			Colors: state.Colors{Light: "#7a5f14", LightSoft: "#f8f0d9", Dark: "#d8b64c", DarkSoft: "#2f2812"},
		},
		verdict.Withdrawn: { // an arrow that turns back
			State: view.State{Label: "Withdrawn", Key: "withdrawn", Bad: true},
			Icon: `<circle cx="10" cy="10" r="8.5" fill="currentColor" stroke="none"/>` +
				`<path class="cut" d="M8.6 5.7 6.2 8.1l2.4 2.4M6.5 8.1h4.7a2.7 2.7 0 0 1 0 5.4H8" stroke="#fff"/>`,
			Colors: failed.Colors,
		},
	}
}()

func likeRun(row state.Row) VerdictLook {
	return VerdictLook{State: view.StateOfReason(row.Reason), Icon: row.Icon, Colors: row.Colors}
}

// VerdictLookOf returns the look of a state. One that only a later version knows is never green.
func VerdictLookOf(s verdict.State) VerdictLook {
	if look, known := verdictLooks[s]; known {
		return look
	}
	return verdictLooks[verdict.None]
}

// VerdictLooks returns those that runs do not have.
func VerdictLooks() []VerdictLook {
	return []VerdictLook{verdictLooks[verdict.None], verdictLooks[verdict.Stale], verdictLooks[verdict.Withdrawn]}
}
