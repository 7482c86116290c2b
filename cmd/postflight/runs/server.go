package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/internal/transfer"
)

// serverRuns are the runs of the sender's team.
type serverRuns struct {
	*client.Client

	console *cli.Console
}

func (s *serverRuns) scope() string { return "of your team" }

func (s *serverRuns) place() string { return "" }

func (s *serverRuns) elsewhere(environment string) string {
	return fmt.Sprintf("\"postflight runs list --environment %s\" asks there", environment)
}

// overlapLines is how many lines of each log come twice after a followed log broke off, so that none is missing.
const overlapLines = 20

// copyLogs continues after a followed log broke off, because the server ends it after a while, and so do proxies; and
// while a run that is followed has no log yet, because the server does not wait for one for long.
func (s *serverRuns) copyLogs(ctx context.Context, id string, o client.LogOptions, to io.Writer) error {
	printed := ""
	for {
		began := time.Now()
		continues, err := s.announce(ctx, id, o.Follow, &printed)
		if err == nil {
			err = s.copyOnce(ctx, id, o, to)
		}
		switch {
		case !o.Follow || ctx.Err() != nil:
			return err
		case errors.Is(err, client.ErrLogCut):
			s.console.Note("The log broke off. It continues with its last %d lines, which may come twice.", overlapLines)
			o.Tail = new(overlapLines)
		case !continues || cli.FailureCode(err) != "log_not_found":
			return err
		}
		if err := transfer.Sleep(ctx, time.Second-time.Since(began)); err != nil {
			return err
		}
	}
}

// announce says why a run that is followed has no log yet, and reports whether it continues.
func (s *serverRuns) announce(ctx context.Context, id string, follow bool, printed *string) (continues bool, err error) {
	if !follow {
		return false, nil
	}
	r, err := s.Run(ctx, id)
	if err != nil || Ended(r) {
		return false, err
	}
	if message := cmp.Or(r.Message, unseen); r.State != v1alpha1.ReasonRunning && message != *printed {
		s.console.Note("%s: %s", r.State, message)
		*printed = message
	}
	return true, nil
}

func (s *serverRuns) copyOnce(ctx context.Context, id string, o client.LogOptions, to io.Writer) error {
	log, err := s.Logs(ctx, id, o)
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = io.Copy(to, log)
	return err
}
