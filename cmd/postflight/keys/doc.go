// Package keys has the commands about API keys.
package keys
