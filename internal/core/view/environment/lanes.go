package environment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/view"
)

// Lane is a line of a day's drawing.
type Lane struct {
	Name   string // of the repository and service, or the Trigger; may be empty
	Bars   []LaneBar
	Height float64 // in pixels
}

// LaneBar is a deployment or a run in a lane: a run that ended badly is higher than others, and a stopped run is lower, so that
// colour is not the only sign.
type LaneBar struct {
	ID, Namespace string // of a run
	Key           string // of its state; a deployment's is "before" or "present"
	Label         string // within the bar; empty if it would not fit
	Title         string
	X, Width      float64 // in percent
	Y, Height     float64 // in pixels
}

const (
	deploymentPitch, deploymentHeight    = 28.0, 20.0 // in pixels
	testPitch                            = 20.0
	badHeight, testHeight, stoppedHeight = 16.0, 10.0, 4.0
	leastWidth                           = 0.7 // of a bar, in percent
	labelWidth                           = 9.0 // that a commit needs, in percent
	maxBeside                            = 4   // runs of a lane at the same time
	maxTicks                             = 6
)

// place returns where a stretch is in the window, in percent.
func (s stretch) place(window stretch) (x, width float64) {
	length := float64(window.to.Sub(window.from))
	from, to := later(s.from, window.from), earlier(s.to, window.to)
	x = min(100-leastWidth, max(0, 100*float64(from.Sub(window.from))/length))
	return x, min(100-x, max(leastWidth, 100*float64(to.Sub(from))/length))
}

func deploymentLanes(deployments []deployment, window stretch, now time.Time) (lanes []Lane) {
	for i, p := range deployments {
		if i == 0 || !p.SamePart(deployments[i-1].Part) {
			lanes = append(lanes, Lane{Name: p.String(), Height: deploymentPitch})
		}
		bar := LaneBar{Key: "present", Label: cmp.Or(commit.ShortSHA(p.sha), "several"), Y: (deploymentPitch - deploymentHeight) / 2,
			Height: deploymentHeight}
		bar.Title = cmp.Or(commit.ShortSHA(p.sha), "several commits")
		if p.branch != "" {
			bar.Title += " on " + p.branch
		}
		bar.Title += ", since " + clock(p.from, window)
		if !p.to.IsZero() {
			bar.Key, bar.Title = "before", bar.Title+" until "+clock(p.to, window)
		}
		if bar.X, bar.Width = p.during(now).place(window); bar.Width < labelWidth {
			bar.Label = ""
		}
		lane := &lanes[len(lanes)-1]
		lane.Bars = append(lane.Bars, bar)
	}
	return lanes
}

// clock writes a time of the day; one of another day with its date.
func clock(at time.Time, window stretch) string {
	if at = at.UTC(); !view.Midnight(at).Equal(view.Midnight(window.from)) {
		return at.Format("2 January, 15:04")
	}
	return at.Format("15:04")
}

// testLanes puts runs of a Trigger that overlap below each other. The runs come newest first.
func testLanes(runs []*v1alpha1.Suite, window stretch, now time.Time) (lanes []Lane) {
	byTrigger := view.ByTrigger(runs)
	for name, own := range byTrigger {
		slices.SortFunc(own, func(a, b *v1alpha1.Suite) int { return testing(a, now).from.Compare(testing(b, now).from) })
		lane := Lane{Name: name, Height: testPitch}
		var ends []float64
		for _, s := range own {
			bar := testBar(s, window, now)
			row := slices.IndexFunc(ends, func(end float64) bool { return end <= bar.X })
			if row < 0 {
				row = min(len(ends), maxBeside-1)
				ends = slices.Grow(ends, 1)[:row+1]
			}
			ends[row] = bar.X + bar.Width
			bar.Y += testPitch * float64(row)
			lane.Bars = append(lane.Bars, bar)
		}
		lane.Height *= float64(len(ends))
		lanes = append(lanes, lane)
	}
	slices.SortFunc(lanes, func(a, b Lane) int { return cmp.Compare(a.Name, b.Name) })
	return lanes
}

func testBar(s *v1alpha1.Suite, window stretch, now time.Time) LaneBar {
	state, t := view.StateOf(s), testing(s, now)
	bar := LaneBar{ID: s.Name, Namespace: s.Namespace, Key: state.Key, Height: testHeight}
	switch {
	case state.Bad:
		bar.Height = badHeight
	case state.NoVerdict:
		bar.Height = stoppedHeight
	}
	bar.Y = (testPitch - bar.Height) / 2
	bar.X, bar.Width = t.place(window)
	bar.Title = fmt.Sprintf("%s: %s at %s", view.RowOf(s, 0, now).Name(), state.Label, clock(t.from, window))
	if took := view.Took(s, now); took > 0 {
		bar.Title += ", " + view.Duration(took)
	}
	if sha := s.Spec.Deployment.SHA; sha != "" {
		bar.Title += ", " + commit.ShortSHA(sha)
	}
	return bar
}

var tickSteps = []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour}

// ticks leaves out times whose label would not fit.
func ticks(window stretch) (all []view.Tick) {
	const margin = 3
	i := slices.IndexFunc(tickSteps, func(step time.Duration) bool { return window.to.Sub(window.from) <= maxTicks*step })
	step := tickSteps[max(i, 0)]
	for at := window.from.Truncate(step); at.Before(window.to); at = at.Add(step) {
		x := 100 * float64(at.Sub(window.from)) / float64(window.to.Sub(window.from))
		if x >= margin && x <= 100-margin {
			all = append(all, view.Tick{X: x, Label: at.UTC().Format("15:04")})
		}
	}
	return all
}
