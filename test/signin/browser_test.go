package signin

import (
	"context"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/postflight-dev/postflight/test/poll"
)

// browser is a headless Chromium, whose tabs share its cookies.
type browser struct {
	t   *testing.T
	ctx context.Context
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		missing(t, "there is no chromium; apt-get install --no-install-recommends chromium")
	}
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(chromedp.ExecPath(path), chromedp.Flag("no-sandbox", true)))
	t.Cleanup(cancel)
	b := &browser{t, ctx}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	return b
}

// tab is a page.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func (b *browser) open(address string) *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	page := &tab{b.t, ctx}
	page.visit(address)
	return page
}

func (p *tab) visit(address string) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(address)); err != nil {
		p.t.Fatalf("visit %s: %v", address, err)
	}
}

// script runs on this page, which may lead to another.
func (p *tab) script(script string) {
	p.t.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Evaluate[any](script+"; 0")); err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
}

// await waits until an expression is true, on this page or the next.
func (p *tab) await(script string) {
	p.t.Helper()
	err := poll.Wait(poll.Limit, script, func() string {
		if p.is(script) {
			return ""
		}
		return "another page"
	})
	if err != nil {
		text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
		p.t.Fatalf("%v; the page:\n%s", err, text)
	}
}

// is reports whether an expression is true now.
func (p *tab) is(script string) bool {
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("!!("+script+")"))
	return err == nil && value
}
