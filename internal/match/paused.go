package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

// pausedCriterion never holds. It is a field of spec, not of spec.match, and cannot fail to compile.
type pausedCriterion struct{}

func compilePaused(spec *v1alpha1.TriggerSpec) (Criterion, error) {
	if !spec.Paused {
		return nil, nil
	}
	return pausedCriterion{}, nil
}

// Holds implements Criterion.
func (pausedCriterion) Holds(*activation) bool { return false }

// Explain implements Criterion.
func (pausedCriterion) Explain(*activation) string {
	return "The Trigger is paused; it matches nothing until spec.paused is false."
}

// Weight implements Criterion.
func (pausedCriterion) Weight() int { return 0 }

// Keys implements Criterion: the choice without a key is in no bucket.
func (pausedCriterion) Keys() [][]bucketKey { return [][]bucketKey{nil} }
