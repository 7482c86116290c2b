package pages_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestForgedRequests: pages of somebody else, on another site or at another port of this one, make the browser of a
// reader who may act send what they like. Nothing happens.
func TestForgedRequests(t *testing.T) {
	tier.All(t, "a browser sends each request; TestActions needs none")
	h := newWorld(t, samples())
	target := h.url + "/runs/shop/checkout-3f9c2k7q5x0a/cancel"
	attacks := map[string]string{
		"form":     `document.querySelector("form").submit()`,
		"fetch":    `fetch("%[1]s", {method: "POST", mode: "no-cors", credentials: "include"}).finally(done)`,
		"readable": `fetch("%[1]s", {method: "POST", credentials: "include"}).finally(done)`,
		"beacon":   `navigator.sendBeacon("%[1]s", new Blob(["x"], {type: "text/plain"})); setTimeout(done, 500)`,
		"image":    `const i = new Image(); i.onload = i.onerror = done; i.src = "%[1]s"`,
		"frame":    `const f = document.createElement("iframe"); f.name = "f"; document.body.append(f); const o = document.querySelector("form"); o.target = "f"; f.onload = done; o.submit()`,
		"link":     `location = "%[1]s"`,
		"sandbox":  `const f = document.createElement("iframe"); f.sandbox = "allow-forms allow-scripts"; f.srcdoc = '<form method=post action="%[1]s"></form><script>document.forms[0].submit()<\/script>'; document.body.append(f); setTimeout(done, 1000)`,
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		script := strings.ReplaceAll(attacks[strings.TrimPrefix(r.URL.Path, "/")], "%[1]s", target)
		fmt.Fprintf(w, `<!doctype html><form method="post" action="%s"></form><script>const done = () => { document.title = "done" }; %s</script>`, target, script)
	}))
	defer evil.Close()
	b := h.open(t, desktop, actKey)
	for origin, address := range map[string]string{"another port": evil.URL,
		"another site": strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)} {
		for name := range attacks {
			b.visit("/runs/shop") // the reader looks at the pages
			eval[any](b, fmt.Sprintf(`location = %q; 0`, address+"/"+name))
			t.Logf("a %s from %s", name, origin)
			b.await(fmt.Sprintf(`document.title === "done" || location.href === %q`, target))
			if done := h.actions.all(); len(done) > 0 {
				t.Fatalf("a %s from %s: %v", name, origin, done)
			}
		}
	}
	b.visit("/runs/shop/checkout-3f9c2k7q5x0a")
	b.script(`document.querySelector("#cancel summary").click()`)
	b.leave(`document.querySelector("#cancel .danger").click()`)
	if done := h.actions.all(); len(done) != 1 {
		t.Errorf("the reader's own click: %v", done)
	}
}
