package view

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// Phase is a part of a run's time, with what it was spent on.
type Phase struct {
	Key      string // names the style class
	Label    string
	For      string // a sentence: what the time was spent on
	Duration string
	Begin    *Time
	Current  bool // it has not ended

	X, Width float64 // of its part of the bar, in percent
	length   time.Duration
}

// minWidth keeps short phases visible, in percent of the bar.
const minWidth = 1.5

// Timeline divides the time from the notification to the end into phases of at least a second. The Job may be nil.
func Timeline(s *v1alpha1.Suite, job *batchv1.Job, now time.Time) []Phase {
	at := milestonesOf(s, job)
	end := now
	if s.Status.CompletionTime != nil {
		end = s.Status.CompletionTime.Time
	}
	var phases []Phase
	begin := s.Received().Truncate(time.Second)
	for _, p := range []struct {
		Phase
		until time.Time
	}{
		{Phase{Key: "queued", Label: "queued", For: "It waited for a slot, and for the runs before it to stop."}, at.job},
		{Phase{Key: "starting", Label: "starting", For: "Its pod waited for a node, for its image and for its input files."}, at.tests},
		{Phase{Key: "running", Label: "tests", For: "The tests ran."}, at.stopped},
		{Phase{Key: "saving", Label: "saving", For: "Its pods ended, and results, files and logs were saved."}, end},
	} {
		until := p.until
		last := until.IsZero() || !until.Before(end)
		if last {
			until = end
		}
		if until.Before(begin) { // the clocks of nodes differ
			until = begin
		}
		p.length, p.Begin, p.Current = until.Sub(begin), TimeOf(begin, now), last && s.Status.CompletionTime == nil
		if p.length >= time.Second || p.Current {
			p.Duration = Duration(p.length)
			phases = append(phases, p.Phase)
		}
		if last {
			break
		}
		begin = until
	}
	layOut(phases)
	return phases
}

// milestones are the ends of the phases; zero for those that are not known or not reached.
type milestones struct{ job, tests, stopped time.Time }

func milestonesOf(s *v1alpha1.Suite, job *batchv1.Job) (m milestones) {
	if s.Status.StartTime != nil {
		m.tests = s.Status.StartTime.Time
	}
	if job == nil {
		m.job = m.tests // the wait before the tests is one phase
		return m
	}
	m.job = job.CreationTimestamp.Time
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
			m.stopped = c.LastTransitionTime.Time
		}
	}
	return m
}

func layOut(phases []Phase) {
	var total time.Duration
	for _, p := range phases {
		total += p.length
	}
	free := 100 - minWidth*float64(len(phases))
	x := 0.0
	for i := range phases {
		share := 1 / float64(len(phases))
		if total > 0 {
			share = float64(phases[i].length) / float64(total)
		}
		phases[i].X, phases[i].Width = x, minWidth+free*share
		x += phases[i].Width
	}
}
