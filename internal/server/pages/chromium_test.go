package pages_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/postflight-dev/postflight/test/poll"
)

// chromium starts one headless Chromium of the distribution for all tests of this package.
var chromium struct {
	sync.Once
	ctx  context.Context
	stop func()
}

func stopChromium() {
	if chromium.stop != nil {
		chromium.stop()
	}
}

// tab is a page in a browser of its own, which reports what must not happen.
type tab struct {
	context.Context
	t   testing.TB
	h   *world
	mu  sync.Mutex
	bad []string
}

type screen struct {
	width, height int64
	dark          bool
}

var (
	desktop = screen{1440, 1000, false}
	night   = screen{1440, 1000, true}
	phone   = screen{390, 844, false}
	phoneBy = screen{390, 844, true}
)

// open starts a browser, and signs in with the key, if there is one.
func (h *world) open(t testing.TB, s screen, key string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		message := "there is no chromium; apt-get install --no-install-recommends chromium"
		if os.Getenv("CI") == "true" {
			t.Fatal(message)
		}
		t.Skip("SKIPPED, NOT PASSED: " + message)
	}
	chromium.Do(func() {
		ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(chromedp.WSURLReadTimeout(poll.Limit),
			chromedp.ExecPath(path), chromedp.Flag("no-sandbox", true), chromedp.Flag("hide-scrollbars", true)))
		chromium.ctx, chromium.stop = ctx, cancel
		if err := chromedp.Do(ctx); err != nil {
			panic(fmt.Sprintf("start chromium: %v", err))
		}
	})
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{Context: ctx, t: t, h: h}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: s.width, Height: s.height, DeviceScaleFactor: 1, Mobile: s.width < 500})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if key != "" {
		b.visit("/sign-in")
		b.leave(fmt.Sprintf(`document.querySelector("#key").value = %q; document.querySelector("form.card").requestSubmit()`, key))
	}
	return b
}

// listen records errors, exceptions, dialogs, and requests to anywhere but the world.
func (b *tab) listen(event any) {
	report := func(format string, args ...any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.bad = append(b.bad, fmt.Sprintf(format, args...))
	}
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		report("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			report("console: %s", e.Args[0].Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			report("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *page.EventJavascriptDialogOpening:
		report("dialog: %s", e.Message)
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || !strings.HasPrefix(e.Request.URL, b.h.url+"/") && u.Scheme != "data" && u.Scheme != "blob" && u.Scheme != "about" {
			report("request to %s", e.Request.URL)
		}
	}
}

// complaints returns what must not happen and did, and forgets it.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := b.bad
	b.bad = nil
	return bad
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.Context, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.Context, command, params); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

func (b *tab) visit(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate(b.h.url + b.h.base() + path))
}

// leave runs a script that leads to another page, and waits for that.
func (b *tab) leave(script string) {
	b.t.Helper()
	eval[any](b, "window.stays = true; "+script+"; 0")
	b.await(`!window.stays && document.readyState === "complete"`)
}

// eval returns the value of an expression, or of its promise.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.Context, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// await waits until an expression is true, on this page or the next.
func (b *tab) await(script string) {
	b.t.Helper()
	poll.Until(b.t, script, func() string {
		if done, err := chromedp.Run(b.Context, chromedp.Evaluate[bool]("!!("+script+")")); err == nil && done {
			return ""
		}
		text, _ := chromedp.Run(b.Context, chromedp.Evaluate[string](`document.querySelector("main")?.innerText ?? ""`))
		return "the page " + text
	})
}

// picture saves the whole page, or what one sees of it at first.
func (b *tab) picture(path string, whole bool) {
	b.t.Helper()
	eval[any](b, `document.fonts.ready.then(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(0)))))`)
	shoot := chromedp.FullScreenshot(100)
	if !whole {
		shoot = chromedp.CaptureScreenshot()
	}
	image, err := chromedp.Run(b.Context, shoot)
	if err == nil {
		err = os.WriteFile(path, image, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// script runs a script on this page.
func (b *tab) script(script string) {
	b.t.Helper()
	eval[any](b, script+"; 0")
}
