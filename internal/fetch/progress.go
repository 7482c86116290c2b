package fetch

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/postflight-dev/postflight/internal/job"
)

// progress says in the log how a download goes, seldom enough to be read.
type progress struct {
	log   *slog.Logger
	file  job.File
	start time.Time
	from  int64 // bytes that were there at the start
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
	return fmt.Sprintf("%.1f MB/s", float64(offset-p.from)/1e6/seconds)
}

func size(bytes int64) string {
	switch {
	case bytes >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(bytes)/1e9)
	case bytes >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
	default:
		return fmt.Sprintf("%d B", bytes)
	}
}
