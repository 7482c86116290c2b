// Package inputs signs the URLs by which CI uploads input files and pods download them, and looks the files up.
package inputs
