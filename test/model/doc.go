// Package model plays random histories of deployments, and compares what Postflight says with what was really deployed. Its tests
// have the decisions of the product, and an API server in memory.
package model
