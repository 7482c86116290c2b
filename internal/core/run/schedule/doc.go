// Package schedule decides when the schedule of a Trigger starts runs, and which of what is deployed they test.
//
// robfig/cron parses the expressions, as it does those of a CronJob, but this package follows the clocks. Tried were robfig/cron v3.0.1,
// netresearch/go-cron v0.9.1, adhocore/gronx v1.20.4, hashicorp/cronexpr v1.1.3 and reugn/go-quartz v0.15.2: where clocks change, each
// leaves out a day, runs twice, or runs on the day before. The maintained fork, netresearch/go-cron, would also change schedules that
// people have: it reads 0 3 * * 1/2 differently, and refuses 0 */24 * * *. In UTC, in which it is used here, robfig/cron is right.
package schedule
