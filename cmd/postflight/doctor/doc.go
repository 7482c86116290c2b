// Package doctor has the command that checks an installation.
package doctor
