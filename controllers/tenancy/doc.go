// Package tenancy keeps the status of Teams and APIKeys, and ends ephemeral Environments.
package tenancy
