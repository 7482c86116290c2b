// Package gate has the commands of pipelines: notify, wait and explain.
package gate
