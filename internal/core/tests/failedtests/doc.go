// Package failedtests selects the failed tests of a run for another run: as a file, and as what each test runner takes on its command line.
package failedtests
