package notification

import "strings"

// Reserved tells whether a notification may not set a variable of that name. A notification with
// one is accepted all the same: the run it asks for cannot be created, which is an outcome of each
// Trigger.
//
// Reserved is what the platform sets itself, and what makes a loader, a shell, a language runtime or
// a tool of the build run code or load files of the sender's choice in an image that is not the
// sender's. Names that merely configure a program, such as URL, BROWSER, ENV or HTTPS_PROXY, are
// not: to set such is what variables are for. A Trigger or an Environment may set any of them.
func Reserved(name string) bool {
	if _, ok := reservedNames[name]; ok {
		return true
	}
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	// npm reads its settings in any case, script-shell and node-options among them.
	return len(name) >= len(npmPrefix) && strings.EqualFold(name[:len(npmPrefix)], npmPrefix)
}

const npmPrefix = "npm_config_"

var reservedPrefixes = []string{
	"KUBERNETES_", "POSTFLIGHT_", // set by the platform
	"LD_", "DYLD_", // the dynamic loaders of Linux and macOS
	"BASH_FUNC_",   // functions that bash imports
	"GIT_CONFIG",   // settings of git, of which many name commands
	"CORECLR_",     // profilers that .NET loads
	"COR_PROFILER", // the same, of the older .NET
	"YARN_",        // settings of yarn, such as the script that replaces it
	"LUA_INIT",     // LUA_INIT and its variants with a version
}

var reservedNames = set(
	// Set by the platform.
	"RUN_INPUTS_DIR", "HOSTNAME",
	// How a process finds programs, libraries and settings.
	"PATH", "HOME", "SHELL", "GCONV_PATH", "GLIBC_TUNABLES", "LOCPATH", "NLSPATH", "HOSTALIASES",
	// Shells.
	"BASH_ENV", "BASHOPTS", "SHELLOPTS", "PS4", "PROMPT_COMMAND", "IFS", "ZDOTDIR",
	// Node.js and its relatives.
	"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "ELECTRON_RUN_AS_NODE", "BUN_OPTIONS",
	// Python.
	"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONWARNINGS",
	// Ruby, Perl, PHP.
	"RUBYOPT", "RUBYLIB", "BUNDLE_GEMFILE", "GEM_PATH", "GEM_HOME",
	"PERL5OPT", "PERL5LIB", "PERLLIB", "PERL5DB", "PHPRC", "PHP_INI_SCAN_DIR",
	// Java and its build tools.
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "CLASSPATH",
	"MAVEN_OPTS", "MAVEN_ARGS", "GRADLE_OPTS",
	// .NET.
	"DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "DOTNET_SHARED_STORE",
	// Build tools and git.
	"MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "GOFLAGS", "RUSTC_WRAPPER",
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR",
	"GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR",
	// Libraries for encryption: engines to load, keys to write down.
	"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSLKEYLOGFILE",
)

func set(names ...string) map[string]struct{} {
	s := make(map[string]struct{}, len(names))
	for _, name := range names {
		s[name] = struct{}{}
	}
	return s
}
