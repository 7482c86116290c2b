package doctor

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

const (
	checkQueue = "queue"

	queuedLong = time.Hour       // longer than most test suites take
	unseenLong = 2 * time.Minute // longer than any leader needs, even for a burst
)

// Queue checks the runs that have not ended.
func Queue(suites []v1alpha1.Suite, now time.Time) (findings []Finding) {
	var queued, unfinished int
	var oldest, unseen *v1alpha1.Suite
	blocked := map[string]*blocked{}
	for i := range suites {
		s := &suites[i]
		if s.Finished() {
			continue
		}
		unfinished++
		switch {
		case s.State() == "":
			unseen = older(unseen, s)
		case s.State() == v1alpha1.ReasonQueued:
			queued++
			oldest = older(oldest, s)
		}
		for _, condition := range blocking {
			if c := meta.FindStatusCondition(s.Status.Conditions, condition); c != nil &&
				meta.IsStatusConditionFalse(s.Status.Conditions, condition) {
				blocked[condition] = blocked[condition].add(s, c.Message)
			}
		}
	}
	if unseen != nil && age(unseen, now) > unseenLong {
		findings = append(findings, failure(checkQueue, nothingLeads, "The manager has not seen the run %s/%s in %s.", unseen.Namespace,
			unseen.Name, plaintext.Duration(age(unseen, now))))
	}
	if oldest != nil && age(oldest, now) > queuedLong {
		findings = append(findings, warning(checkQueue, "Raise the limit that its message names, or cancel what is in its way.",
			"The run %s/%s is queued for %s: %s", oldest.Namespace, oldest.Name, plaintext.Duration(age(oldest, now)),
			meta.FindStatusCondition(oldest.Status.Conditions, v1alpha1.ConditionSucceeded).Message))
	}
	for _, condition := range blocking {
		if b := blocked[condition]; b != nil {
			findings = append(findings, warning(checkQueue, "", "%d runs are blocked, such as %s: %s", b.runs, b.example, b.message))
		}
	}
	if len(findings) == 0 {
		return []Finding{ok(checkQueue, "Runs that have not ended: %d; queued of these: %d.", unfinished, queued)}
	}
	return findings
}

// blocking are the conditions that are False while something keeps a run from starting or continuing.
var blocking = []string{v1alpha1.ConditionInputsReady, v1alpha1.ConditionJobAccepted, v1alpha1.ConditionObjectsFound}

type blocked struct {
	runs             int
	example, message string
}

func (b *blocked) add(s *v1alpha1.Suite, message string) *blocked {
	if b == nil {
		b = &blocked{example: s.Namespace + "/" + s.Name, message: message}
	}
	b.runs++
	return b
}

func older(a, b *v1alpha1.Suite) *v1alpha1.Suite {
	if a == nil || b.CreationTimestamp.Before(&a.CreationTimestamp) {
		return b
	}
	return a
}

func age(s *v1alpha1.Suite, now time.Time) time.Duration { return now.Sub(s.CreationTimestamp.Time) }
