package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/internal/core/doctor/reach"
	"github.com/postflight-dev/postflight/internal/pod/fetch"
)

const reachUsage = `Usage: collect reach [flags] URL...

Tries to resolve and to reach each URL, for postflight doctor. The results are in the termination message.

Exit codes: 2 there is no URL, or there are too many; otherwise 0.
`

// reachTimeout bounds an attempt, which includes the lookup of the name.
const reachTimeout = 15 * time.Second

func runReach(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("reach", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, reachUsage); flags.PrintDefaults() }
	message := flags.String("termination-log", defaultTerminationLog, "file for the results")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return exitMisuse
	}
	if n := flags.NArg(); n == 0 || n > reach.MaxURLs {
		fmt.Fprintf(stderr, "Error: collect reach needs 1 to %d URLs, but got %d\n", reach.MaxURLs, n)
		return exitMisuse
	}
	text, err := reach.Message(reachAll(context.Background(), flags.Args()))
	fmt.Fprintln(stderr, text)
	if err = errors.Join(err, writeTerminationMessage(*message, text)); err != nil {
		fmt.Fprintln(stderr, "Error:", err)
	}
	return 0
}

func reachAll(ctx context.Context, urls []string) []reach.Result {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	results := make([]reach.Result, len(urls))
	var all sync.WaitGroup
	for i, u := range urls {
		all.Go(func() { results[i] = reachOne(ctx, u) })
	}
	all.Wait()
	return results
}

// reachOne sends HEAD, which changes nothing at the receiver.
func reachOne(ctx context.Context, address string) reach.Result {
	result := reach.Result{URL: address}
	u, err := url.Parse(address)
	if err == nil {
		result.Addresses, err = net.DefaultResolver.LookupHost(ctx, u.Hostname())
	}
	if err != nil {
		result.Problem = err.Error()
		return result
	}
	resp, err := head(ctx, address)
	if err != nil {
		var untrusted *tls.CertificateVerificationError
		result.Untrusted, result.Problem = errors.As(err, &untrusted), err.Error()
		return result
	}
	defer resp.Body.Close()
	result.Status = resp.StatusCode
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		result.Ahead = time.Since(date).Truncate(time.Second)
	}
	return result
}

func head(ctx context.Context, address string) (*http.Response, error) {
	client, err := fetch.NewClient("")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}
