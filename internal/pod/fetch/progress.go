package fetch

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/postflight-dev/postflight/internal/core/run/job"
)

// progress logs how a download proceeds, at most once per progressEvery.
type progress struct {
	log   *slog.Logger
	file  job.File
	start time.Time
	from  int64 // bytes that an earlier attempt had written
	next  time.Time
}

func newProgress(log *slog.Logger, file job.File, from int64) *progress {
	now := time.Now()
	log.Info("downloading", "file", file.Path, "size", humanize.Bytes(uint64(file.Size)), "have", humanize.Bytes(uint64(from)))
	return &progress{log: log, file: file, start: now, from: from, next: now.Add(progressEvery)}
}

func (p *progress) at(offset int64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	p.log.Info("downloading", "file", p.file.Path, "done", p.percent(offset),
		"of", humanize.Bytes(uint64(p.file.Size)), "speed", p.speed(offset, now))
}

func (p *progress) done(offset int64) {
	p.log.Info("downloaded", "file", p.file.Path, "size", humanize.Bytes(uint64(offset)), "speed", p.speed(offset, time.Now()))
}

func (p *progress) percent(offset int64) string {
	if p.file.Size <= 0 {
		return "?"
	}
	return fmt.Sprintf("%d%%", offset*100/p.file.Size)
}

func (p *progress) speed(offset int64, now time.Time) string {
	seconds := max(now.Sub(p.start).Seconds(), 0.001)
	return humanize.Bytes(uint64(float64(max(offset-p.from, 0))/seconds)) + "/s"
}
