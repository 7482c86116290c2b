package pages_test

import (
	"encoding/base64"
	"testing"

	"github.com/postflight-dev/postflight/test/tier"
)

// TestLookAtArtifacts: a picture is shown in place; a page runs in an origin of its own.
func TestLookAtArtifacts(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples())
	h.artifacts.files = sampleFiles()
	h.artifacts.files["report/index.html"] = []byte(`<!doctype html><title>Report</title><script>
		let cookie; try { cookie = document.cookie } catch (e) { cookie = e.name }
		fetch("data.json").then(r => r.json()).then(d => fetch("told/" + self.origin + "/" + cookie + "/" + d.n))</script>`)
	h.artifacts.files["report/data.json"] = []byte(`{"n": 7}`)
	b := h.open(t, desktop, readKey)
	b.visit(failedRun)
	b.await(`document.querySelector(".previews img")?.naturalWidth === 640`)
	b.visit(failedRun + "/artifacts")
	b.await(`document.querySelector(".shown img")?.naturalWidth === 640`)
	link := eval[string](b, `document.querySelector('a[href$="index.html"]').getAttribute("href")`)
	b.calm()
	b.visit(link)
	if got := h.artifacts.told(t, "told"); got != "report/told/null/SecurityError/7" {
		t.Errorf("the report has %s", got)
	}
	b.await(`document.querySelector("iframe").title === "report/index.html"`)
	b.leave(`[...document.querySelectorAll(".crumbs a")].at(-1).click()`)
	b.await(`document.querySelector(".shown img")`)
}

// TestLookAtAVideo plays one that a browser recorded, from its middle.
func TestLookAtAVideo(t *testing.T) {
	tier.All(t, "the gate watches one page in a browser, in TestWatchARun")
	h := newWorld(t, samples())
	b := h.open(t, desktop, readKey)
	recorded := eval[string](b, `new Promise((done, failed) => {
		const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
		canvas.width = 320; canvas.height = 180;
		const recorder = new MediaRecorder(canvas.captureStream(25), { mimeType: "video/webm" });
		recorder.ondataavailable = async (event) => {
			const bytes = new Uint8Array(await event.data.arrayBuffer());
			done(btoa([...bytes].map((byte) => String.fromCharCode(byte)).join("")));
		};
		recorder.onerror = failed;
		let n = 0;
		const draw = setInterval(() => { pen.fillStyle = n++ % 2 ? "navy" : "teal"; pen.fillRect(0, 0, 320, 180); }, 40);
		recorder.start();
		setTimeout(() => { clearInterval(draw); recorder.stop(); }, 1200);
	})`)
	video, err := base64.StdEncoding.DecodeString(recorded)
	if err != nil || len(video) < 1000 {
		t.Fatalf("the video has %d bytes: %v", len(video), err)
	}
	old := anOldRun("archived-1")
	old.files = map[string][]byte{"videos/checkout.webm": video}
	h.store(t, old)
	for _, path := range []string{"/runs/shop/archived-1", "/runs/shop/archived-1/artifacts"} {
		b.visit(path)
		b.await(`document.querySelector("video")?.readyState >= 1 && document.querySelector("video").videoWidth === 320`)
		b.script(`document.querySelector("video").play()`)
		b.await(`document.querySelector("video").currentTime > 0.2`)
	}
	b.calm()
}
