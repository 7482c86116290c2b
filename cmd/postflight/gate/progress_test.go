package gate

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postflight-dev/postflight/cmd/postflight/cli"
	"github.com/postflight-dev/postflight/test/clitest"
)

// A line between lines that are redrawn would tear them apart.
func TestAside(t *testing.T) {
	for _, live := range []bool{true, false} {
		c, _, log := clitest.Console()
		c.Live = live
		c.Aside("before")
		p := startProgress(c, nil)
		c.Aside("meanwhile")
		p.Stop()
		c.Aside("after")
		want := "before\nmeanwhile\nafter\n"
		if live {
			want = "before\nafter\n"
		}
		if got := log.String(); got != want {
			t.Errorf("live %v: %q, want %q", live, got, want)
		}
	}
}

func TestLiveFramesReplaceEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, log := clitest.Console()
		c.Live = true
		p := startProgress(c, []RunStatus{{Run: "a", Verdict: waiting}})
		p.Update(0, func(o *RunStatus) { o.URL = "https://x" })
		time.Sleep(2*cli.FrameInterval + cli.FrameInterval/2)
		p.Update(0, func(o *RunStatus) { o.Verdict, o.Reason = failed, "why" })
		p.Stop()
		text := log.String()
		if !strings.Contains(text, "\x1b[2A") || !strings.Contains(text, "failed") || !strings.HasSuffix(text, "    https://x\n") {
			t.Errorf("%q", text)
		}
	})
}
