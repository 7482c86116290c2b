package mask_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

func TestOf(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 18)[:280]
	for reason, tc := range map[string]struct {
		variables v1alpha1.Variables
		want      []string
	}{
		"secret names, the longest value first": {v1alpha1.Variables{"TOKEN": "hunter2", "DB_PASSWORD": "correct horse", "BRANCH": "feature-1"}, []string{"correct horse", "hunter2"}},
		"short values are a part of many words": {v1alpha1.Variables{"PIN_SECRET": "12345", "A_TOKEN": "true"}, nil},
		"the password of a URL":                 {v1alpha1.Variables{"URL": "postgres://shop:hunter2@db/shop redis://:hunter3@cache"}, []string{"hunter2", "hunter3"}},
		"the lines of a key":                    {v1alpha1.Variables{"X": "-----BEGIN PRIVATE KEY-----\r\nMIIEvQIBADAN\nabc\n"}, []string{"-----BEGIN PRIVATE KEY-----", "MIIEvQIBADAN"}},
		"parts of a long one":                   {v1alpha1.Variables{"TOKEN": long}, []string{long[:256], long[24:]}},
		"parts of many bytes each":              {v1alpha1.Variables{"TOKEN": strings.Repeat("é", 150)}, []string{strings.Repeat("é", 128)}},
		"the token in a header":                 {v1alpha1.Variables{"HEADER": "Bearer ghp_" + strings.Repeat("a1", 18)}, []string{"Bearer ghp_" + strings.Repeat("a1", 18), "ghp_" + strings.Repeat("a1", 18)}},
		"the password of a secret URL":          {v1alpha1.Variables{"SESSION_DB": "db://u:hunter2@db/x"}, []string{"db://u:hunter2@db/x", "hunter2"}},
		"lines of old systems":                  {v1alpha1.Variables{"TOKEN": "hunter2\rhunter3"}, []string{"hunter2", "hunter3"}},
		"the same value twice":                  {v1alpha1.Variables{"TOKEN": "hunter2", "SECRET": "hunter2"}, []string{"hunter2"}},
		"nothing":                               {nil, nil},
	} {
		if got := mask.Of(tc.variables); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", reason, got, tc.want)
		}
	}
	many := v1alpha1.Variables{}
	for i := range 100 {
		many[fmt.Sprintf("TOKEN_%d", i)] = fmt.Sprintf("value-%d", i)
	}
	if got := mask.Of(many); len(got) != 64 {
		t.Errorf("%d values are looked for, want 64", len(got))
	}
	keys := v1alpha1.Variables{"Z_PASSWORD": "hunter2"}
	for i := range 3 {
		for line := range 50 {
			keys[fmt.Sprintf("KEY_%d_SECRET", i)] += fmt.Sprintf("a long line of a key %d-%d\n", i, line)
		}
	}
	if got := mask.Of(keys); len(got) != 64 || !slices.Contains(got, "hunter2") {
		t.Errorf("beside long keys, %q are looked for", got)
	}
}

// TestMask: a value is masked wherever the chunks of a stream end.
func TestMask(t *testing.T) {
	for reason, tc := range map[string]struct {
		values     []string
		text, want string
	}{
		"a value":                          {[]string{"hunter2"}, "password=hunter2\n", "password=***\n"},
		"several":                          {[]string{"hunter2", "swordfish"}, "hunter2swordfish hunter2", "****** ***"},
		"the beginning of a value":         {[]string{"hunter2"}, "hunter hunter", "hunter hunter"},
		"a value in the beginning of it":   {[]string{"aaaaab"}, "aaaaaaaaab", "aaaa***"},
		"the longest of those that fit":    {[]string{"secret", "secret-long"}, "secret-long secret-lone", "*** ***-lone"},
		"a value that begins in another":   {[]string{"abcdef", "defghijk"}, "abcdefghijk defghijk", "***ghijk ***"},
		"a value in a longer one":          {[]string{"middle", "a-middle-b"}, "a-middle-b a-middle-c", "*** a-***-c"},
		"nothing to mask":                  {nil, "hunter2", "hunter2"},
		"bytes that are no text":           {[]string{"\xff\x00\xfe\x01\xfd\x02"}, "a\xff\x00\xfe\x01\xfd\x02b", "a***b"},
		"no text":                          {[]string{"hunter2"}, "", ""},
		"a value that begins at the end":   {[]string{"hunter2"}, "a hunt", "a hunt"},
		"the same letters again and again": {[]string{"aaaaaa"}, strings.Repeat("a", 20), "*********aa"},
	} {
		t.Run(reason, func(t *testing.T) {
			values := mask.NewValues(tc.values)
			if got := values.Text(tc.text); got != tc.want {
				t.Errorf("the text is %q, want %q", got, tc.want)
			}
			for name, in := range map[string]io.Reader{
				"whole": strings.NewReader(tc.text), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.text)),
				"half by half": iotest.HalfReader(strings.NewReader(tc.text)), "with its end": iotest.DataErrReader(strings.NewReader(tc.text)),
			} {
				if got, err := io.ReadAll(iotest.OneByteReader(values.Reader(in))); err != nil || string(got) != tc.want {
					t.Errorf("%s: the stream is %q, %v, want %q", name, got, err, tc.want)
				}
			}
		})
	}
}

// TestMaskAtChunks: the border of a chunk that the reader itself makes is anywhere in a value.
func TestMaskAtChunks(t *testing.T) {
	values := mask.NewValues([]string{"hunter2-swordfish"})
	for at := 32<<10 - 20; at < 32<<10+5; at++ {
		text := strings.Repeat("x", at) + "hunter2-swordfish" + strings.Repeat("y", 40<<10)
		got, err := io.ReadAll(values.Reader(strings.NewReader(text)))
		if want := strings.Replace(text, "hunter2-swordfish", "***", 1); err != nil || string(got) != want {
			t.Fatalf("a value at %d is not masked, %v", at, err)
		}
	}
}

// TestMaskDelaysNothing: what was read of a log that is followed is shown at once, unless a value may begin there.
func TestMaskDelaysNothing(t *testing.T) {
	in, out := io.Pipe()
	log := mask.NewValues([]string{"hunter2"}).Reader(in)
	go func() {
		for _, text := range []string{"one\n", "two hun", "ter", "2!\nth", "ree hunt"} {
			_, _ = out.Write([]byte(text))
		}
		_ = out.CloseWithError(errors.New("the node is gone"))
	}()
	timer := time.AfterFunc(time.Minute, func() { _ = in.CloseWithError(errors.New("nothing comes")) })
	defer timer.Stop()
	buffer := make([]byte, 100)
	for _, want := range []string{"one\n", "two ", "***!\nt", "hree "} {
		if n, err := log.Read(buffer); err != nil || string(buffer[:n]) != want {
			t.Fatalf("%q, %v, want %q", buffer[:n], err, want)
		}
	}
	if _, err := log.Read(buffer); err == nil || err.Error() != "the node is gone" {
		t.Errorf("the end is %v", err)
	}
}

// FuzzMask: no value is left, and nothing else changes, wherever a stream is cut.
func FuzzMask(f *testing.F) {
	f.Add("password=hunter2 swordfish", "hunter2", "swordfish", uint8(3))
	f.Add(strings.Repeat("a", 50), "aaaaaa", "aaaaaaaab", uint8(7))
	f.Fuzz(func(t *testing.T, text, one, two string, step uint8) {
		if strings.Contains(text+one+two, "*") {
			t.Skip("it may have masks of its own")
		}
		values := mask.NewValues([]string{one, two})
		want := values.Text(text)
		got, err := io.ReadAll(values.Reader(&steps{rest: text, step: int(step)%17 + 1}))
		if err != nil || string(got) != want {
			t.Fatalf("%q without %q: as a stream %q, %v, as a text %q", text, values, got, err, want)
		}
		for _, part := range strings.Split(want, "***") {
			if !strings.Contains(text, part) {
				t.Errorf("%q was not in %q", part, text)
			}
			for _, value := range values {
				if strings.Contains(part, value) {
					t.Errorf("%q is left in %q", value, want)
				}
			}
		}
	})
}

type steps struct {
	rest string
	step int
}

func (s *steps) Read(p []byte) (int, error) {
	if s.rest == "" {
		return 0, io.EOF
	}
	n := copy(p, s.rest[:min(s.step, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}

// BenchmarkMask: what masking costs for each byte of a log, beside reading it without.
func BenchmarkMask(b *testing.B) {
	var log bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&log, "2026-11-24T10:00:%02d.%06dZ  checkout > pays with card %d: GET https://staging.example.com/cart 200 in 12 ms\n", i%60, i, i)
	}
	rate := func(b *testing.B) float64 {
		return float64(log.Len()) * float64(b.N) / (1 << 20) / b.Elapsed().Seconds()
	}
	b.Run("gzip", func(b *testing.B) { // what saving a log costs anyway
		for b.Loop() {
			to := gzip.NewWriter(io.Discard)
			if _, err := to.Write(log.Bytes()); err != nil {
				b.Fatal(err)
			}
		}
		fmt.Printf("MASK step=gzip mib_per_s=%.0f\n", rate(b))
	})
	for _, n := range []int{0, 1, 4, 16, 64} {
		texts := make([]string, n)
		for i := range texts {
			texts[i] = fmt.Sprintf("%cecret-value-%d", 'a'+i%26, i)
		}
		values := mask.NewValues(texts)
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			b.SetBytes(int64(log.Len()))
			for b.Loop() {
				if _, err := io.Copy(io.Discard, struct{ io.Reader }{values.Reader(bytes.NewReader(log.Bytes()))}); err != nil {
					b.Fatal(err)
				}
			}
			fmt.Printf("MASK step=mask values=%d mib_per_s=%.0f\n", n, rate(b))
		})
	}
}
