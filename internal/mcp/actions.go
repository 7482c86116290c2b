package mcp

import (
	"context"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/client"
)

type rerunIn struct {
	Run        string `json:"run" jsonschema:"the id of a run that has ended"`
	OnlyFailed bool   `json:"onlyFailed,omitempty" jsonschema:"repeat only the tests that failed; green if the two runs together show that every test passed"`
}

type actionOut struct {
	Run      runLine `json:"run"` // the next attempt, or the run that is being canceled
	Sentence string  `json:"sentence"`
}

// addActions adds the tools that change something. The API decides whether the sender may.
func (s *Server) addActions() {
	add(s, tool[rerunIn, actionOut]{
		name: "rerun", title: "Run the tests of a run again", changes: true,
		description: "Starts the next attempt of a run that has ended, of the same commit in the same Environment, or only of the tests that " +
			"failed. If that attempt exists already, it is returned. The sender needs the right to act.",
		call: rerun,
	})
	add(s, tool[runIn, actionOut]{
		name: "cancel", title: "Cancel a run", changes: true,
		description: "Stops a run that has not ended. It ends as Canceled, without a result. The sender needs the right to act.",
		call:        cancel,
	})
}

func rerun(ctx context.Context, c *client.Client, in rerunIn) (*actionOut, error) {
	again := c.Rerun
	if in.OnlyFailed {
		again = c.RerunFailed
	}
	r, err := again(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	return acted(r, "This is the next attempt. list_runs shows its state; it takes as long as the tests take."), nil
}

func cancel(ctx context.Context, c *client.Client, in runIn) (*actionOut, error) {
	r, err := c.Cancel(ctx, in.Run)
	if err != nil {
		return nil, err
	}
	return acted(r, "The run is being stopped, and ends as Canceled."), nil
}

func acted(r *httpapi.Run, sentence string) *actionOut { return &actionOut{lineOf(r), sentence} }
