package notification

import "testing"

func TestReserved(t *testing.T) {
	tests := map[string]struct {
		reason string
		names  []string
		want   bool
	}{
		"Platform":  {reason: "the platform sets them", names: []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_", "POSTFLIGHT_SHA", "RUN_INPUTS_DIR"}, want: true},
		"Loader":    {reason: "the loader runs what they name", names: []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES"}, want: true},
		"Shell":     {reason: "shells run what they name or hold", names: []string{"BASH_ENV", "PATH", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "IFS"}, want: true},
		"Runtime":   {reason: "runtimes load what they name", names: []string{"NODE_OPTIONS", "PYTHONSTARTUP", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "LUA_INIT_5_4"}, want: true},
		"Tool":      {reason: "tools run what they name", names: []string{"GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "npm_config_script_shell", "NPM_CONFIG_NODE_OPTIONS", "MAKEFLAGS"}, want: true},
		"Ordinary":  {reason: "these are what variables are for", names: []string{"URL", "GREP", "ENV", "BROWSER", "HTTPS_PROXY", "NODE_ENV", "CI", "TZ", "LANG", "PYTEST_ADDOPTS", "RUN_INPUT_PATH"}},
		"LookAlike": {reason: "names are case-sensitive, and whole where no prefix is meant", names: []string{"path", "ld_preload", "MY_LD_PRELOAD", "PATHS", "LD", "KUBERNETES", "postflight_x", "npm_confi", "npm"}},
		"Empty":     {reason: "the empty name is no variable, and not reserved", names: []string{""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, n := range tc.names {
				if got := Reserved(n); got != tc.want {
					t.Errorf("%s: Reserved(%q) = %t", tc.reason, n, got)
				}
			}
		})
	}
}

func TestBranchName(t *testing.T) {
	tests := map[string]struct {
		reason       string
		branch, want string
	}{
		"Plain":     {reason: "a name stays", branch: "feature/x", want: "feature/x"},
		"Ref":       {reason: "a ref is shortened", branch: "refs/heads/feature/x", want: "feature/x"},
		"RefOnce":   {reason: "once: a branch may be called so", branch: "refs/heads/refs/heads/x", want: "refs/heads/x"},
		"RefOfNone": {reason: "nothing is left of the prefix alone", branch: "refs/heads/", want: ""},
		"Tag":       {reason: "a tag is no branch", branch: "refs/tags/v1", want: "refs/tags/v1"},
		"Case":      {reason: "refs are case-sensitive", branch: "Refs/heads/x", want: "Refs/heads/x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := BranchName(tc.branch); got != tc.want {
				t.Errorf("%s: BranchName(%q) = %q, want %q", tc.reason, tc.branch, got, tc.want)
			}
		})
	}
}

func TestIsCommit(t *testing.T) {
	tests := map[string]struct {
		reason string
		sha    string
		want   bool
	}{
		"SHA1":      {reason: "40 digits", sha: commit, want: true},
		"SHA256":    {reason: "64 digits", sha: commit + commit[:24], want: true},
		"UpperCase": {reason: "in any case", sha: "ABCDEF" + commit[6:], want: true},
		"Short":     {reason: "an abbreviation may be ambiguous", sha: commit[:12]},
		"Between":   {reason: "50 digits", sha: commit + commit[:10]},
		"NotHex":    {reason: "g is no digit", sha: "g" + commit[1:]},
		"Empty":     {reason: "nothing", sha: ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := IsCommit(tc.sha); got != tc.want {
				t.Errorf("%s: IsCommit(%q) = %t", tc.reason, tc.sha, got)
			}
		})
	}
}
