package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

const verdictPath = "/api/v0/verdict"

// VerdictQuery asks about a commit in an Environment. Repository and Service may be empty: of all.
type VerdictQuery struct {
	SHA         string // the whole commit
	Environment string
	Repository  string // owner/name
	Service     string
	MaxAge      time.Duration // of results; 0: what the Environment allows
}

func (q VerdictQuery) values() url.Values {
	query := url.Values{"sha": {q.SHA}, "environment": {q.Environment}}
	for name, value := range map[string]string{"repository": q.Repository, "service": q.Service} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if q.MaxAge > 0 {
		query.Set("maxAge", q.MaxAge.String())
	}
	return query
}

// Verdict returns whether a commit is green in an Environment. While it is running, or has no result, it waits for news for up to the given
// time and MaxWait, like Greenlight.
func (c *Client) Verdict(ctx context.Context, q VerdictQuery, wait time.Duration) (*Verdict, error) {
	var v Verdict
	if err := c.hold(ctx, "", verdictPath, q.values(), wait, &v); err != nil {
		return nil, err
	}
	c.resolveVerdict(&v)
	return &v, nil
}

// RunVerdict starts what a verdict lacks, each run once, and returns the verdict afterwards.
func (c *Client) RunVerdict(ctx context.Context, q VerdictQuery) (*StartedVerdict, error) {
	v, err := request[StartedVerdict](ctx, c, http.MethodPost, verdictPath+"?"+q.values().Encode(), c.trace, nil)
	if err != nil {
		return nil, err
	}
	c.resolveVerdict(&v.Verdict)
	for i := range v.Started {
		c.resolveLink(&v.Started[i].URL)
	}
	return v, nil
}

func (c *Client) resolveVerdict(v *Verdict) {
	c.resolveLink(&v.URL)
	for i := range v.Requirements {
		c.resolveLink(&v.Requirements[i].URL)
	}
}
