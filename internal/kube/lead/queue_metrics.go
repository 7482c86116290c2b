package lead

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// clearQueues resets the metrics of a term's queues, which would otherwise be added to the next term's. All controllers belong to terms.
func clearQueues() error {
	families, err := metrics.Registry.Gather() // also returns what it has if there is an error
	errs := []error{err}
	for _, f := range families {
		switch f.GetName() {
		case metrics.WorkQueueSubsystem + "_" + metrics.DepthKey:
			errs = append(errs, eachGauge(f, func(g *prometheus.GaugeVec, labels prometheus.Labels) {
				if labels["priority"] != "" { // other queues have none, outlive the term, and would lose their gauge
					g.Delete(labels)
				}
			}))
		case metrics.WorkQueueSubsystem + "_" + metrics.UnfinishedWorkKey, metrics.WorkQueueSubsystem + "_" + metrics.LongestRunningProcessorKey:
			errs = append(errs, eachGauge(f, func(g *prometheus.GaugeVec, labels prometheus.Labels) { g.With(labels).Set(0) }))
		}
	}
	return errors.Join(errs...)
}

// The gauges of controller-runtime are private: registering a duplicate returns the original in the error.
func eachGauge(family *dto.MetricFamily, f func(*prometheus.GaugeVec, prometheus.Labels)) error {
	var names []string
	var all []prometheus.Labels
	for _, m := range family.GetMetric() {
		names = names[:0]
		labels := prometheus.Labels{}
		for _, l := range m.GetLabel() {
			names = append(names, l.GetName())
			labels[l.GetName()] = l.GetValue()
		}
		all = append(all, labels)
	}
	err := metrics.Registry.Register(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: family.GetName(), Help: family.GetHelp()}, names))
	registered := prometheus.AlreadyRegisteredError{}
	if !errors.As(err, &registered) {
		return err
	}
	gauge, ok := registered.ExistingCollector.(*prometheus.GaugeVec)
	if !ok {
		return err
	}
	for _, labels := range all {
		f(gauge, labels)
	}
	return nil
}
