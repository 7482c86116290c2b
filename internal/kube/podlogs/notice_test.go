package podlogs

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestNotice: the kubelet's notice at the end of a log is no line of it, whatever the pieces are in which it comes.
func TestNotice(t *testing.T) {
	id := strings.Repeat("5f06686e", 8)
	said := `rpc error: code = NotFound desc = an error occurred when try to find container "` + id + `": not found`
	for name, tc := range map[string]struct{ log, want string }{
		"removed":                       {"busy\n" + said, "busy\n"},
		"removed before the first line": {said, ""},
		"a line of the test":            {"busy\n" + said + "\n", "busy\n" + said + "\n"},
		"a line of the test, and more":  {said + "\nbusy", said + "\nbusy"},
		"in a line":                     {"busy " + said, "busy " + said},
		"without a container":           {"rpc error: code = NotFound desc = no such user", "rpc error: code = NotFound desc = no such user"},
		"too long":                      {said + strings.Repeat("x", maxNotice), said + strings.Repeat("x", maxNotice)},
		"the beginning of one":          {"busy\nrpc err", "busy\nrpc err"},
		"no notice":                     {"one\ntwo", "one\ntwo"},
		"nothing":                       {"", ""},
	} {
		for pieces, in := range map[string]io.Reader{
			"at once": strings.NewReader(tc.log), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.log)),
			"with its end": iotest.DataErrReader(strings.NewReader(tc.log)),
		} {
			got, err := io.ReadAll(&withoutNotice{ReadCloser: io.NopCloser(in)})
			if err != nil || string(got) != tc.want {
				t.Errorf("%s, %s: got %q, %v, want %q", name, pieces, got, err, tc.want)
			}
		}
	}
	broken := io.MultiReader(strings.NewReader(said), iotest.ErrReader(errors.ErrUnsupported))
	if got, err := io.ReadAll(&withoutNotice{ReadCloser: io.NopCloser(broken)}); string(got) != said ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a connection that breaks: got %q, %v", got, err)
	}
}

// TestNoticeDelaysNothing: a reader sees what there is before more comes.
func TestNoticeDelaysNothing(t *testing.T) {
	in, out := io.Pipe()
	log := &withoutNotice{ReadCloser: in}
	go func() { _, _ = io.WriteString(out, "half a line") }()
	p := make([]byte, 100)
	if n, err := log.Read(p); err != nil || string(p[:n]) != "half a line" {
		t.Errorf("got %q, %v", p[:n], err)
	}
}
