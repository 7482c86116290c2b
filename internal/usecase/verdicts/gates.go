package verdicts

import (
	"context"
	"errors"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// OfGates answers what DeploymentGates ask.
type OfGates struct{ *Reader }

// Verdict returns false if there is no such Environment.
func (g OfGates) Verdict(
	ctx context.Context, namespace string, r v1alpha1.GateRequirement, c commit.Commit, live bool,
) (verdict.Verdict, bool, error) {
	v, err := g.Reader.Verdict(ctx, Query{Namespace: namespace, Environment: r.Environment, Commit: c, Rule: r.Rule, Live: live})
	if errors.Is(err, ErrNotFound) {
		return v, false, nil
	}
	return v, err == nil, err
}
