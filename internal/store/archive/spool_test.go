package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/postflight-dev/postflight/test/tier"
)

// stored is what remains of a log in the archive.
func stored(t *testing.T, log io.Reader) (text []byte, omitted int64, failure error) {
	t.Helper()
	s, err := newSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	failure, err = s.fill(log)
	if err != nil {
		t.Fatal(err)
	}
	omitted, err = s.compress(failure != nil)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := gzip.NewReader(io.LimitReader(s.packed, s.packedSize))
	if err != nil {
		t.Fatal(err)
	}
	text, err = io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	return text, omitted, failure
}

// numbered is a log of this many bytes, whose lines are all different.
func numbered(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		b.WriteString("line " + strconv.Itoa(i) + "\n")
	}
	return b.Bytes()[:size]
}

func TestShortLogsAreKeptWhole(t *testing.T) {
	sizes := []int{0, 7, head, head + tail}
	if !tier.Gate() {
		sizes = append(sizes, 1, head-1, head+1, head+tail-1)
	}
	for _, size := range sizes {
		log := numbered(size)
		text, omitted, _ := stored(t, bytes.NewReader(log))
		if !bytes.Equal(text, log) || omitted != 0 {
			t.Errorf("of %d bytes: %d came back, %d omitted", size, len(text), omitted)
		}
	}
}

// TestLongLogsAreCut: head and tail of the log are kept, a line between them says how much is missing, and no line
// is cut.
func TestLongLogsAreCut(t *testing.T) {
	sizes := []int{head + tail + 1, head + 2*tail + 1}
	if !tier.Gate() {
		sizes = append(sizes, head+tail+100, head+tail+maxLine, head+2*tail-1, head+2*tail, 50<<20+12345)
	}
	for _, size := range sizes {
		log := numbered(size)
		text, omitted, _ := stored(t, bytes.NewReader(log))
		mark := fmt.Sprintf("[postflight: %d bytes were left out here]\n", omitted)
		first, last, ok := bytes.Cut(text, []byte(mark))
		switch {
		case !ok:
			t.Errorf("of %d bytes: no line %q", size, mark)
		case !bytes.HasPrefix(log, first) || !bytes.HasSuffix(log, last):
			t.Errorf("of %d bytes: another head or tail", size)
		case int64(len(first)+len(last))+omitted != int64(size):
			t.Errorf("of %d bytes: %d and %d are kept, %d omitted", size, len(first), len(last), omitted)
		case !bytes.HasSuffix(first, []byte("\n")) || !bytes.HasPrefix(last, []byte("line ")):
			t.Errorf("of %d bytes: a line is cut: %q, %q", size, first[len(first)-10:], last[:10])
		case len(first) < head-100 || len(last) < tail-100:
			t.Errorf("of %d bytes: only %d and %d are kept", size, len(first), len(last))
		}
	}
}

func TestLongLineIsCutWithin(t *testing.T) {
	log := bytes.Repeat([]byte("x"), head+tail+1000)
	text, omitted, _ := stored(t, bytes.NewReader(log))
	want := string(log[:head]) + "\n[postflight: 1000 bytes were left out here]\n" + string(log[:tail])
	if string(text) != want || omitted != 1000 {
		t.Errorf("%d bytes, %d omitted", len(text), omitted)
	}
}

func TestBrokenLogSaysSo(t *testing.T) {
	broken := errors.New("broken")
	const mark = "[postflight: the rest of this log could not be read]\n"
	for name, tc := range map[string]struct{ log, want string }{
		"WithinALine": {"first\nsecond", "first\nsecond\n" + mark},
		"AfterALine":  {"first\n", "first\n" + mark},
		"AfterACut":   {string(numbered(20 << 20)), "\n" + mark},
	} {
		text, _, failure := stored(t, io.MultiReader(strings.NewReader(tc.log), iotest.ErrReader(broken)))
		if !errors.Is(failure, broken) || !strings.HasSuffix(string(text), tc.want) {
			t.Errorf("%s: %v, %q", name, failure, text[max(0, len(text)-100):])
		}
	}
}

// TestSpoolLeavesNoFiles: neither while it is in use, nor after its process was killed.
func TestSpoolLeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := newSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.fill(strings.NewReader("text")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestNoPlaceForFiles(t *testing.T) {
	t.Setenv("TMPDIR", "/nowhere/at/all")
	_, err := newSpool()
	if err == nil || strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "temporary files") {
		t.Errorf("%v", err)
	}
}
