// Package access reaches what commands talk to: the server of $POSTFLIGHT_URL, or the cluster of the kubeconfig.
package access
