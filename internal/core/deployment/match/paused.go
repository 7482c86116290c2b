package match

import "github.com/postflight-dev/postflight/api/v1alpha1"

// pausedCriterion never holds. Its field is in spec, not in spec.match, and always compiles.
type pausedCriterion struct{ simple }

func compilePaused(spec *v1alpha1.TriggerSpec) (criterion, error) {
	if !spec.Paused {
		return nil, nil
	}
	return pausedCriterion{}, nil
}

func (pausedCriterion) holds(*activation) bool { return false }

func (pausedCriterion) explain(*activation) string {
	return "The Trigger is paused; it matches nothing until spec.paused is false."
}

// keys has a choice without a key: the Trigger is in no bucket.
func (pausedCriterion) keys() [][]bucketKey { return [][]bucketKey{nil} }
