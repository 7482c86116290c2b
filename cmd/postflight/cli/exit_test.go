package cli_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
)

func TestInterrupted(t *testing.T) {
	quit := errors.New("interrupt signal received")
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(quit)
	late, done := context.WithTimeout(t.Context(), 0)
	defer done()
	request := fmt.Errorf("the server cannot be reached: %w", context.Canceled)
	cases := map[string]struct {
		reason string
		ctx    context.Context
		err    error
		want   string
		code   int
	}{
		"no error":  {ctx: canceled, want: "<nil>"},
		"a request": {ctx: canceled, err: request, want: "interrupted.", code: -1},
		"with the cause": {reason: "net/http returns the cause instead of the error of the context", ctx: canceled,
			err: fmt.Errorf("x: %w", quit), want: "interrupted.", code: -1},
		"with a code": {ctx: canceled, err: cli.ExitTroubleError(request), want: "interrupted.", code: cli.ExitTrouble},
		"another error": {reason: "it had come before", ctx: canceled, err: cli.Exitf(cli.ExitFailed, "failed"), want: "failed",
			code: cli.ExitFailed},
		"no time left":         {ctx: late, err: context.DeadlineExceeded, want: "context deadline exceeded", code: -1},
		"an interrupt of none": {reason: "something else ended the request", ctx: t.Context(), err: request, want: request.Error(), code: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := cli.Interrupted(tc.ctx, tc.err, "."); fmt.Sprint(got) != tc.want || clitest.ExitCode(got) != tc.code {
				t.Errorf("%s: %v with code %d, want %q with %d", tc.reason, got, clitest.ExitCode(got), tc.want, tc.code)
			}
		})
	}
}
