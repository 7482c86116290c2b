package regression

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
)

// container of the tests.
const container = "tests"

// atOnce is how many runs are saved at once.
const atOnce = 8

// Save writes the story into the archive, and the summaries of its days.
func (s *Story) Save(ctx context.Context, a *archive.Archive) error {
	group, bounded := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, r := range s.Runs {
		group.Go(func() error { return s.save(bounded, a, r) })
	}
	for _, d := range s.Deployments {
		group.Go(func() error { return a.SaveDeployment(bounded, d) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("the story cannot be saved: %w", err)
	}
	day, last := s.Runs[0].Suite.CreationTimestamp.UTC().Truncate(24*time.Hour), s.Last.CreationTimestamp.UTC()
	for ; !day.After(last); day = day.AddDate(0, 0, 1) {
		if err := a.Summarize(ctx, s.Team, day); err != nil {
			return fmt.Errorf("%s cannot be summarized: %w", day.Format(time.DateOnly), err)
		}
	}
	return nil
}

// save writes what a collector and the archive's reconciler write, in their order.
func (s *Story) save(ctx context.Context, a *archive.Archive, r Run) error {
	run, archived := record.Of(s.Team, r.Suite), r.Suite.DeepCopy()
	var logs []record.Log
	ended := record.Ended{}
	if p := r.Pod; p != nil {
		document, err := p.encoded()
		if err != nil {
			return err
		}
		if err := a.Bucket.Put(ctx, run.ResultsKey(p.Name), "application/json", bytes.NewReader(document), int64(len(document))); err != nil {
			return err
		}
		if err := a.Bucket.Put(ctx, run.PodTestsKey(p.Name), "application/gzip", bytes.NewReader(p.Tests), int64(len(p.Tests))); err != nil {
			return err
		}
		log, err := a.SaveLog(ctx, run, p.Name, container, false, strings.NewReader(p.Log))
		if err != nil {
			return err
		}
		if err := a.SaveTests(ctx, run); err != nil {
			return err
		}
		logs, ended = append(logs, log), record.Ended{Ran: true, Pods: 1}
	}
	c := record.Condition(logs, ended)
	c.LastTransitionTime = *archived.Status.CompletionTime
	archived.Status.Conditions = append(archived.Status.Conditions, c)
	return a.SaveRecord(ctx, record.New(s.Team, archived, logs))
}
