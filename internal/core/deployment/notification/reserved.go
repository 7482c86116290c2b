package notification

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Reserved reports whether a notification may not set a variable of that name. It stays valid, but no Trigger creates a run for it.
// A Trigger or an Environment may set any name.
//
// The platform sets some of the names. By others, the sender could make a loader, a shell, a language runtime or a build tool run code,
// load files, trust certificates or talk to other hosts, next to the Secrets of a pod: sudo, glibc (for setuid programs) and CI systems
// refuse them, or tools in test images read them. The list cannot be complete; Trigger.spec.allowVariables can. Names that merely
// configure a program or a test, such as URL, GREP, BROWSER, NODE_ENV or CI, are not reserved; nor is ENV: only interactive shells read its
// file, and pipelines use it. Case is ignored: npm and yarn ignore it, and proxies are named in both cases.
func Reserved(name string) bool {
	name = strings.ToUpper(name)
	return !harmlessNames.Has(name) && (reservedNames.Has(name) ||
		slices.ContainsFunc(reservedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }))
}

// Allowed reports whether a Trigger's allowVariables include the name of a variable. Nil allows all.
func Allowed(name string, allow []string) bool {
	for _, entry := range allow {
		if start, glob := strings.CutSuffix(entry, "*"); name == entry || glob && strings.HasPrefix(name, start) {
			return true
		}
	}
	return allow == nil
}

// harmlessNames begin like settings of git, which does not read them; pipelines pass them on.
var harmlessNames = sets.New("GIT_BRANCH", "GIT_COMMIT", "GIT_COMMIT_SHA", "GIT_LOCAL_BRANCH",
	"GIT_PREVIOUS_COMMIT", "GIT_REF", "GIT_SHA", "GIT_TAG", "GIT_URL")

var reservedPrefixes = []string{
	// Set by the platform.
	"KUBERNETES_", "POSTFLIGHT_",
	// The dynamic loaders of Linux and macOS; what glibc keeps from setuid programs.
	"LD_", "DYLD_", "GLIBC_", "MALLOC_",
	// What bash reads when it starts, functions among it.
	"BASH_",
	// Folders in which programs look for settings and plug-ins.
	"XDG_",
	// Node.js: package managers, which can run other scripts, and other runtimes.
	"NPM_CONFIG_", "PNPM_", "YARN_", "COREPACK_", "TS_NODE_", "BUN_", "DENO_", "ELECTRON_",
	// Python: modules, start-up files and warnings that import code; where packages come from; pytest's options and plug-ins.
	"PYTHON", "PYTEST_", "PIP_", "PIPENV_", "POETRY_", "PDM_", "UV_", "CONDA_", "VIRTUALENV_", "TOX_",
	// Perl, Ruby, PHP, Lua, Julia, Erlang and Elixir: options, paths, sources of packages.
	"PERL", "BUNDLE_", "BUNDLER_", "GEM_", "COMPOSER_", "LUA_", "JULIA_", "ERL_", "ELIXIR_",
	// Java's build tools, whose options can name agents and other scripts.
	"MAVEN_", "GRADLE_", "ANT_",
	// .NET: start-up hooks, profilers, settings of the runtime; where packages come from.
	"DOTNET_", "CORECLR_", "COR_ENABLE_", "COR_PROFILER", "COMPLUS_", "NUGET_", "MSBUILD",
	// Rust, C and Go: wrappers and plug-ins of compilers, registries, proxies of modules.
	"CARGO_", "RUSTC", "RUSTUP_", "CMAKE_", "CGO_", "GOPROXY", "GONOSUM", "GOSUMDB",
	// Git and SSH: commands, configuration, libraries of security keys.
	"GIT_", "SSH_",
	// Clients of clouds and clusters: configuration that runs commands, plug-ins, other endpoints for the credentials of the pod.
	"AWS_ENDPOINT_URL", "AWS_CONTAINER_", "AWS_EC2_METADATA_", "CLOUDSDK_", "GOOGLE_EXTERNAL_ACCOUNT_", "HELM_", "TF_CLI_", "ANSIBLE_",
	// Encryption: engines to load, keys to write down, realms to trust.
	"OPENSSL_", "GNUTLS_", "KRB5",
	// Libraries of graphics and media, which load drivers and plug-ins by path.
	"VK_", "GST_PLUGIN_", "MAGICK_",
}

var reservedNames = sets.New(
	// Set by the platform.
	"RUN_INPUTS_DIR", "HOSTNAME", "TRACEPARENT", "TRACESTATE",
	// How a process finds programs, settings, character sets, messages and terminals.
	"PATH", "HOME", "SHELL", "GCONV_PATH", "GETCONF_DIR", "LOCPATH", "NLSPATH", "TZDIR", "TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH",
	// How a process finds hosts.
	"HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS", "RESOLV_HOST_CONF",
	// Proxies, which see what a test sends with a Secret.
	"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY", "GRPC_PROXY", "SOCKS_PROXY", "NODE_USE_ENV_PROXY",
	// Shells.
	"BASHOPTS", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "IFS", "CDPATH", "GLOBIGNORE", "ZDOTDIR", "FPATH", "NULLCMD", "READNULLCMD", "INPUTRC",
	// Programs that other programs start.
	"EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "RSYNC_RSH", "CC", "CXX",
	// Options and settings of tools that scripts use.
	"TAR_OPTIONS", "GREP_OPTIONS", "XZ_OPT", "XZ_DEFAULTS", "ZIPOPT", "UNZIP", "WGETRC", "CURL_HOME", "AWKPATH", "AWKLIBPATH",
	"VIMINIT", "EXINIT",
	// Node.js. Not NODE_ENV.
	"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED",
	// Browsers of test tools: which program, from where.
	"CHROME_PATH", "CHROME_BIN", "PUPPETEER_EXECUTABLE_PATH", "PUPPETEER_DOWNLOAD_BASE_URL", "PLAYWRIGHT_DOWNLOAD_HOST",
	"PLAYWRIGHT_BROWSERS_PATH", "PLAYWRIGHT_NODEJS_PATH", "PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH", "PW_TEST_CONNECT_WS_ENDPOINT",
	"PWTEST_CLI_EXECUTABLE_PATH", "CYPRESS_INSTALL_BINARY", "CYPRESS_RUN_BINARY", "SELENIUM_REMOTE_URL", "SE_DRIVER_MIRROR_URL",
	"SE_MANAGER_PATH", "CHROMEDRIVER_FILEPATH",
	// Load tests and other runners: files and options that run code, also from a URL.
	"LOCUST_LOCUSTFILE", "ROBOT_OPTIONS", "GUNICORN_CMD_ARGS", "KARATE_OPTIONS", "JMETER_OPTS",
	// Ruby, PHP, Tcl, R, Elixir. Not MIX_ENV.
	"RUBYOPT", "RUBYLIB", "RUBYPATH", "RUBYSHELL", "SPEC_OPTS", "PHPRC", "PHP_INI_SCAN_DIR", "TCLLIBPATH",
	"R_HOME", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "R_LIBS", "R_LIBS_USER", "MIX_HOME", "MIX_EXS", "MIX_ARCHIVES",
	// Java.
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "JAVA_HOME", "JRE_HOME", "JAVACMD", "CLASSPATH",
	"M2_HOME", "SBT_OPTS", "JVM_OPTS", "JVM_ARGS", "DEFAULT_JVM_OPTS", "CATALINA_OPTS",
	// Make, Go, Rust.
	"MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MFLAGS", "GOFLAGS", "GOENV", "GOROOT", "GOPATH", "GOTOOLCHAIN", "GOPRIVATE",
	"GOINSECURE", "RUSTFLAGS", "RUSTDOCFLAGS",
	// Version control and passwords.
	"HGRCPATH", "HGMERGE", "HGEDITOR", "SVN_SSH", "GNUPGHOME", "NETRC",
	// Clients of clouds, clusters and databases. Not AWS_REGION.
	"KUBECONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CA_BUNDLE",
	"AWS_DATA_PATH", "BOTO_CONFIG",
	"AZURE_CONFIG_DIR", "GOOGLE_APPLICATION_CREDENTIALS", "DOCKER_CONFIG", "DOCKER_HOST", "DOCKER_CERT_PATH", "DOCKER_CONTEXT",
	"CONTAINER_HOST", "TF_PLUGIN_CACHE_DIR", "VAULT_ADDR",
	"PGSERVICEFILE", "PGSYSCONFDIR", "PGPASSFILE", "LIBMYSQL_PLUGINS", "LIBMYSQL_PLUGIN_DIR", "ODBCINI", "ODBCSYSINI",
	// Which certificates to trust, and where to write the keys of a connection.
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SASL_PATH", "VAULT_CACERT", "PGSSLROOTCERT",
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "SUDO_ASKPASS",
	// Libraries of desktops, which load modules by path.
	"GTK_MODULES", "GTK_PATH", "GIO_MODULE_DIR", "GIO_EXTRA_MODULES", "GDK_PIXBUF_MODULE_FILE", "QT_PLUGIN_PATH",
	"QML2_IMPORT_PATH", "LIBGL_DRIVERS_PATH",
)
