package results

import (
	"fmt"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// ruleOf never finds a Quarantine of a failure outside of tests: it says nothing about a single test.
func (t *Tests) ruleOf(test *testCase) int32 {
	if test.outside || len(t.Quarantines.Rules()) == 0 {
		return -1
	}
	return int32(t.Quarantines.Find(test.name))
}

func (t *Tests) markQuarantine(f *Failure, rule int32) {
	switch {
	case rule < 0:
	case t.Quarantines.Rules()[rule].Expired:
		f.ExpiredQuarantine = t.Quarantines.Rules()[rule].Name
	default:
		f.Quarantine = t.Quarantines.Rules()[rule].Name
	}
}

func (t *Tests) countQuarantined(rule int32, o outcome) {
	if rule < 0 || o == skipped {
		return
	}
	if t.matched == nil {
		t.matched = make([]int32, len(t.Quarantines.Rules()))
	}
	t.matched[rule]++
	if t.Quarantines.Rules()[rule].Expired {
		return
	}
	t.Counts.QuarantinedRan++
	if o == failed {
		t.Counts.Quarantined++
	}
}

// counting are the failures that fail the run.
func (c Counts) counting() int32 { return c.Failed - c.Quarantined }

// OnlyQuarantined reports whether tests failed, and valid Quarantines name all of them.
func (c Counts) OnlyQuarantined() bool { return c.Failed > 0 && c.counting() == 0 }

// Apply keeps of a summary only what the Quarantines of its run allow: the summary is the word of a pod.
func (s *Summary) Apply(a quarantine.Applied) {
	s.Quarantines = nil
	for i, r := range a.Rules {
		tests := int32(0)
		if i < len(s.Matched) {
			tests = s.Matched[i]
		}
		s.Quarantines = append(s.Quarantines, v1alpha1.AppliedQuarantine{Name: r.Name, Until: r.Until, Expired: r.Expired, Tests: tests})
	}
	valid := map[string]bool{}
	for _, r := range a.Rules {
		valid[r.Name] = !r.Expired
	}
	for i, f := range s.Failures {
		if f.Quarantine != "" && !valid[f.Quarantine] {
			s.Failures[i].Quarantine = ""
		}
	}
	if !a.Valid() {
		s.Quarantined, s.QuarantinedRan = 0, 0
	}
}

// tooFewBeside says why tests that no Quarantine names do not make up for those that failed in one: otherwise, a Quarantine of all
// tests would pass a run in which nothing works.
func tooFewBeside(c Counts, least int32) string {
	passed := c.Passed - (c.QuarantinedRan - c.Quarantined)
	switch {
	case passed >= least:
		return ""
	case passed == 0:
		return fmt.Sprintf("%s failed in quarantine, and no other test passed, so nothing shows that anything works. "+
			"Quarantine fewer tests, or repair them.", tests(c.Quarantined))
	default:
		return fmt.Sprintf("%s failed in quarantine, and only %s outside of it passed; results.minTests of the Trigger is %d. "+
			"Quarantine fewer tests, or lower minTests.", tests(c.Quarantined), tests(passed), least)
	}
}

// QuarantinedFailures writes a number of them: 1 quarantined failure.
func QuarantinedFailures(n int32) string { return plaintext.Count(n, "quarantined failure") }

// inQuarantine says how many of the failures are.
func inQuarantine(r *v1alpha1.TestResults) string {
	switch {
	case r.Quarantined == 0:
		return ""
	case r.Quarantined < r.Failed:
		return fmt.Sprintf(", %d of them quarantined", r.Quarantined)
	case r.Failed == 1:
		return ", quarantined"
	default:
		return ", all of them quarantined"
	}
}
