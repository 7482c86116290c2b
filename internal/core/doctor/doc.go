// Package doctor decides what is wrong with an installation of Postflight, and what to do about it. It is pure: objects of the cluster in,
// findings out.
package doctor
