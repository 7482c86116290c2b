// Package split decides which test files each shard of a run gets, by the seconds that they took in earlier runs. All arithmetic is in
// whole milliseconds, so that pods on different processors agree.
package split
