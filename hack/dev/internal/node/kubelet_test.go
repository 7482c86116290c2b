package node

import "testing"

func TestWithoutDomains(t *testing.T) {
	cases := map[string]struct{ reason, file, want string }{
		"a search list is left out": {
			reason: "names without a dot would be looked up in the machine's domains",
			file:   "search corp.example lab.example\nnameserver 192.0.2.1\n", want: "nameserver 192.0.2.1\n",
		},
		"a domain is left out": {reason: "it is a search list of one", file: "nameserver 192.0.2.1\n domain\tcorp.example",
			want: "nameserver 192.0.2.1\n"},
		"everything else stays": {
			reason: "options and comments have no domains", file: "# search here\noptions ndots:1\n\nnameserver ::1\n",
			want: "# search here\noptions ndots:1\n\nnameserver ::1\n",
		},
		"an empty file": {reason: "there may be none", file: "", want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := withoutDomains(tc.file); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
