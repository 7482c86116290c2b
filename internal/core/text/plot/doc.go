// Package plot computes where the marks of plots are: x in percent of the width, so that a plot fits every screen while its text keeps its
// size, and y in pixels from the top.
package plot
