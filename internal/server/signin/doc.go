// Package signin finds who a person is, which teams they may see, and which sessions have ended. Package auth knows keys and pods.
package signin
