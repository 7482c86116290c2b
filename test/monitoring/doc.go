// Package monitoring tests the alerts and the dashboard with the tools of Prometheus.
package monitoring
