package notification

import "testing"

func TestReserved(t *testing.T) {
	tests := map[string]struct {
		reason string
		names  []string
		want   bool
	}{
		"Platform": {reason: "the platform sets them", names: []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_", "POSTFLIGHT_SHA",
			"RUN_INPUTS_DIR", "TRACEPARENT"}, want: true},
		"Loader": {reason: "the loader runs what they name", names: []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT",
			"DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES", "GCONV_PATH"}, want: true},
		"Shell": {reason: "shells run what they name or hold",
			names: []string{"BASH_ENV", "BASH_FUNC_ls%%", "PATH", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "IFS", "FPATH"}, want: true},
		"Runtime": {reason: "runtimes load what they name", names: []string{"NODE_OPTIONS", "PYTHONSTARTUP", "RUBYOPT", "PERL5OPT",
			"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "LUA_INIT_5_4", "DOTNET_STARTUP_HOOKS"}, want: true},
		"Tool": {reason: "tools run what they name", names: []string{"GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "npm_config_script_shell",
			"NPM_CONFIG_NODE_OPTIONS", "MAKEFLAGS", "TAR_OPTIONS", "SSH_ASKPASS", "EDITOR"}, want: true},
		"Packages": {reason: "packages come from where they say", names: []string{"PIP_INDEX_URL", "COREPACK_NPM_REGISTRY",
			"CARGO_REGISTRIES_X_INDEX", "yarn_npm_registry_server", "BUNDLE_MIRROR__ALL", "GOPROXY", "UV_INDEX_URL"}, want: true},
		"Tests": {reason: "options of a test runner load plug-ins",
			names: []string{"PYTEST_ADDOPTS", "PYTEST_PLUGINS", "SPEC_OPTS", "MAVEN_OPTS", "GRADLE_OPTS"}, want: true},
		"Clients": {reason: "their settings run commands, and they have credentials", names: []string{"KUBECONFIG", "AWS_CONFIG_FILE",
			"AWS_SHARED_CREDENTIALS_FILE", "AWS_ENDPOINT_URL_S3", "CLOUDSDK_PYTHON", "DOCKER_CONFIG"}, want: true},
		"Trust": {reason: "who is trusted reads the Secrets", names: []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS",
			"NODE_TLS_REJECT_UNAUTHORIZED", "REQUESTS_CA_BUNDLE", "SSLKEYLOGFILE"}, want: true},
		"Proxies": {reason: "they see what a test sends", names: []string{"HTTPS_PROXY", "https_proxy", "http_proxy", "all_proxy"}, want: true},
		"AnyCase": {reason: "Windows containers know no case", names: []string{"path", "ld_preload", "Node_Options", "postflight_x"},
			want: true},
		"Ordinary": {reason: "these are what variables are for", names: []string{"URL", "GREP", "ENV", "BROWSER", "NODE_ENV", "CI", "TZ",
			"LANG", "DEBUG", "USER", "HEADLESS", "CYPRESS_BASE_URL", "MIX_ENV"}},
		"Docs": {reason: "the docs and the samples use them",
			names: []string{"RUN_INPUT_PATH", "EXPECT_TEXT", "SHOP_NAME", "REGION", "APK", "region"}},
		"Pipelines": {reason: "CI systems set them, and pipelines pass them on", names: []string{"GIT_COMMIT", "GIT_BRANCH", "git_sha",
			"GITHUB_SHA", "GITHUB_REF", "CI_COMMIT_SHA", "BUILD_NUMBER", "BUILDKITE_BRANCH", "CIRCLE_SHA1", "AWS_REGION", "PR_NUMBER"}},
		"LookAlike": {reason: "names are whole where no prefix is meant",
			names: []string{"MY_LD_PRELOAD", "PATHS", "LD", "KUBERNETES", "npm_confi", "npm", "GIT", "AWS", "HOMEPAGE", "EDITORS"}},
		"Empty": {reason: "the empty name is no variable, and not reserved", names: []string{""}},
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

func TestAllowed(t *testing.T) {
	tests := map[string]struct {
		reason string
		allow  []string
		name   string
		want   bool
	}{
		"Unset":      {reason: "a Trigger that says nothing accepts all", name: "GREP", want: true},
		"None":       {reason: "an empty list accepts none", allow: []string{}, name: "GREP"},
		"Named":      {reason: "it is in the list", allow: []string{"URL", "GREP"}, name: "GREP", want: true},
		"Other":      {reason: "it is not", allow: []string{"GREP"}, name: "GREPS"},
		"Part":       {reason: "a name is whole", allow: []string{"GREPS"}, name: "GREP"},
		"Case":       {reason: "names are what the pod gets", allow: []string{"GREP"}, name: "grep"},
		"Glob":       {reason: "it begins like this", allow: []string{"E2E_*"}, name: "E2E_USER", want: true},
		"GlobExact":  {reason: "nothing may follow", allow: []string{"E2E_*"}, name: "E2E_", want: true},
		"GlobShort":  {reason: "all of the beginning must be there", allow: []string{"E2E_*"}, name: "E2E"},
		"GlobInside": {reason: "only at the end is it a glob", allow: []string{"E*E_X"}, name: "E2E_X"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Allowed(tc.name, tc.allow); got != tc.want {
				t.Errorf("%s: Allowed(%q, %q) = %t", tc.reason, tc.name, tc.allow, got)
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
