// Package upload has the command that uploads input files.
package upload
