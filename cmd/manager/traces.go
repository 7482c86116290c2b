package main

import (
	"cmp"
	"context"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/postflight-dev/postflight/internal/core/text/version"
	"github.com/postflight-dev/postflight/internal/outbound/tracing"
)

// setupTraces returns nil if the variables of OpenTelemetry name no collector.
func setupTraces(ctx context.Context, o options) (*tracing.Tracing, error) {
	host, _ := os.Hostname() // empty: the attribute says little then
	return tracing.New(ctx, version.Get().Version, cmp.Or(o.leader.replicaName, host), ctrl.Log.WithName("traces"))
}

func flush(t *tracing.Tracing) {
	if err := t.Shutdown(); err != nil {
		ctrl.Log.WithName("traces").Error(err, "the last traces are lost")
	}
}
