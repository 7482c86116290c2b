package fetch

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/postflight-dev/postflight/internal/job"
)

// progress logs how a download goes, at most every progressEvery.
type progress struct {
	log   *slog.Logger
	file  job.File
	start time.Time
	from  int64 // bytes that an earlier attempt left
	next  time.Time
}

func newProgress(log *slog.Logger, file job.File, from int64) *progress {
	now := time.Now()
	log.Info("downloading", "file", file.Path, "size", size(file.Size), "have", size(from))
	return &progress{log: log, file: file, start: now, from: from, next: now.Add(progressEvery)}
}

func (p *progress) at(offset int64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	p.log.Info("downloading", "file", p.file.Path, "done", p.percent(offset), "of", size(p.file.Size), "speed", p.speed(offset, now))
}

func (p *progress) done(offset int64) {
	p.log.Info("downloaded", "file", p.file.Path, "size", size(offset), "speed", p.speed(offset, time.Now()))
}

func (p *progress) percent(offset int64) string {
	if p.file.Size <= 0 {
		return "?"
	}
	return fmt.Sprintf("%d%%", offset*100/p.file.Size)
}

func (p *progress) speed(offset int64, now time.Time) string {
	seconds := max(now.Sub(p.start).Seconds(), 0.001)
	return size(int64(float64(offset-p.from)/seconds)) + "/s"
}

func size(bytes int64) string { return humanize.Bytes(uint64(max(bytes, 0))) }
