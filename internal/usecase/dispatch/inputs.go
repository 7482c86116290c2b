package dispatch

import (
	"context"
	"errors"
	"io/fs"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func (o *operation) inputDifferences(ctx context.Context, s *v1alpha1.Suite) []v1alpha1.Difference {
	if len(s.Status.Inputs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Limits.InputsTimeout)
	defer cancel()
	for _, in := range s.Status.Inputs {
		switch same, known := o.sameInput(ctx, in); {
		case !known:
			return []v1alpha1.Difference{v1alpha1.UnknownInputs}
		case !same:
			return []v1alpha1.Difference{v1alpha1.DifferentInputs}
		}
	}
	return nil
}

func (o *operation) sameInput(ctx context.Context, in v1alpha1.SuiteInput) (same, known bool) {
	if o.Inputs == nil {
		return false, false
	}
	file, err := o.Inputs.Stat(ctx, o.Team, in.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, true
	}
	return file == in, err == nil
}
