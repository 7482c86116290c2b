package results_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestUTF32: a report that no line can declare is read by its first bytes.
func TestUTF32(t *testing.T) {
	for name, codec := range map[string]encoding.Encoding{
		"little":      utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM),
		"big":         utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
		"with a mark": utf32.UTF32(utf32.LittleEndian, utf32.UseBOM),
	} {
		text, err := codec.NewEncoder().String(`<testsuite><testcase name="支払い"><failure/></testcase></testsuite>`)
		if err != nil {
			t.Fatal(err)
		}
		tests := &results.Tests{}
		if !tests.Add("r.xml", strings.NewReader(text)) || len(tests.Failures) != 1 || tests.Failures[0].Name != "支払い" {
			t.Errorf("%s: %+v", name, tests.Failures)
		}
	}
}

// TestEncodings: a report is read in the encoding that its first line names, also by the names of Python and Oracle.
func TestEncodings(t *testing.T) {
	for declared, tc := range map[string]struct{ web, test string }{
		"Shift_JIS":       {"shift_jis", "支払い"},
		"CP932":           {"shift_jis", "支払い"},
		"EUC-JP":          {"euc-jp", "支払い"},
		"WINDOWS-1251":    {"windows-1251", "оплата"},
		"cp1251":          {"windows-1251", "оплата"},
		"windows-1250":    {"windows-1250", "płatność"},
		"ISO-8859-2":      {"iso-8859-2", "płatność"},
		"iso-8859-15":     {"iso-8859-15", "10 €"},
		"KOI8-R":          {"koi8-r", "оплата"},
		"GBK":             {"gbk", "付款"},
		"GB2312":          {"gbk", "付款"},
		"gb18030":         {"gb18030", "付款"},
		"CP936":           {"gbk", "付款"},
		"Big5":            {"big5", "付款"},
		"EUC-KR":          {"euc-kr", "결제"},
		"CP949":           {"euc-kr", "결제"},
		"utf8":            {"utf-8", "支払い"},
		"UTF-16":          {"utf-8", "支払い"}, // says more than it does
		"ANSI_X3.4-1968":  {"utf-8", "refund"},
		"no-such-charset": {"utf-8", "支払い"},
	} {
		t.Run(declared, func(t *testing.T) {
			codec, err := htmlindex.Get(tc.web)
			if err != nil {
				t.Fatal(err)
			}
			text, err := codec.NewEncoder().String(`<?xml version="1.0" encoding="` + declared + `"?><testsuite name="s"><testcase name="` + tc.test + `"><failure/></testcase></testsuite>`)
			if err != nil {
				t.Fatal(err)
			}
			tests := &results.Tests{}
			if !tests.Add("r.xml", strings.NewReader(text)) || len(tests.Failures) != 1 || tests.Failures[0].Name != "s > "+tc.test {
				t.Errorf("%+v", tests.Failures)
			}
		})
	}
}
