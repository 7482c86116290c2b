package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/internal/sleep"
)

// serverRuns are the runs of the team of an API key.
type serverRuns struct {
	*client.Client

	console *console
}

func (s *serverRuns) scope() string { return "of the team of the API key" }

// repeatedLines is how many lines of each log come twice after a followed log broke off, so that none is missing.
const repeatedLines = 20

// copyLogs goes on after a log that is followed broke off: the server ends it after a while, and so do proxies.
func (s *serverRuns) copyLogs(ctx context.Context, id string, o client.LogOptions, to io.Writer) error {
	for {
		began := time.Now()
		log, err := s.Logs(ctx, id, o)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, log)
		log.Close()
		if !o.Follow || !errors.Is(err, client.ErrLogCut) || ctx.Err() != nil {
			return err
		}
		s.console.note("The log broke off. It goes on with its last %d lines, which may come twice.", repeatedLines)
		o.Tail = new(repeatedLines)
		if err := sleep.For(ctx, max(0, time.Second-time.Since(began))); err != nil {
			return fmt.Errorf("the log of %s: %w", id, err)
		}
	}
}
