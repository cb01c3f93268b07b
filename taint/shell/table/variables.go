package table

import (
	"regexp"
	"slices"
	"strings"
)

// steering are variables of the environment that name programs or code, or where these are looked for.
var steering = []string{
	"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4", "SHELLOPTS", "BASHOPTS", "IFS",
	"PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE", "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT", "NODE_OPTIONS", "NODE_PATH",
	"PERL5OPT", "PERL5LIB", "PERL5DB", "RUBYOPT", "RUBYLIB", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "RUSTC", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS",
	"CC", "CXX", "LD", "AR", "CFLAGS", "GOFLAGS", "GOROOT", "GOTOOLCHAIN", "GOPROXY", "GONOSUMDB", "GOPRIVATE", "GONOSUMCHECK", "GOINSECURE", "MAKEFLAGS", "MAKEFILES", "SHELL", "CDPATH", "GLOBIGNORE",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "NPM_CONFIG_REGISTRY", "npm_config_registry", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "SSH_ASKPASS",
	"RUSTDOC", "RUSTUP_TOOLCHAIN", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONUSERBASE", "DOTNET_STARTUP_HOOKS", "JDK_JAVA_OPTIONS", "JAVA_HOME", "MAVEN_ARGS", "BUN_OPTIONS", "UV_DEFAULT_INDEX", "UV_INDEX", "PIP_CONFIG_FILE",
	"JUST_JUSTFILE", "MISE_CONFIG_FILE", "GNUMAKEFLAGS", "GCCGO", "OPENSSL_CONF", "GCONV_PATH", "ZDOTDIR", "BUNDLE_GEMFILE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_EXTRA_CA_CERTS",
	"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "KUBECONFIG", "AWS_CONFIG_FILE", "TAR_OPTIONS", "RSYNC_RSH", "CARGO_HOME", "HOME", "XDG_CONFIG_HOME", "TERM_PROGRAM_HOOK", "GH_HOST", "GH_REPO", "GH_CONFIG_DIR", "GH_PATH", "GH_BROWSER", "GH_EDITOR", "GH_PAGER", "GITLAB_HOST", "GITLAB_URI", "GITLAB_REPO", "GL_HOST", "GLAB_CONFIG_DIR", "EXINIT", "VIMINIT", "INPUTRC", "READLINE_INPUTRC",
}

// plain are values of such variables that do nothing.
var plain = map[string][]string{
	"GIT_TRACE": {"0", "1", "2", "true"}, "GIT_CURL_VERBOSE": {"0", "1"}, "PAGER": {"cat", ""}, "MANPAGER": {"cat", ""}, "GIT_PAGER": {"cat", ""}, "GH_PAGER": {"cat", ""}, "EDITOR": {"true", ":", "cat"}, "VISUAL": {"true", ":", "cat"}, "GIT_EDITOR": {"true", ":", "cat"}, "GIT_SEQUENCE_EDITOR": {"true", ":", "cat"},
	"GOFLAGS": {"", "-mod=mod", "-mod=vendor", "-mod=readonly", "-count=1", "-buildvcs=false"}, "GOTOOLCHAIN": {"local", "auto"}, "GOPROXY": {"off", "direct", "https://proxy.golang.org,direct"},
	"CC": {"gcc", "clang", "cc"}, "CXX": {"g++", "clang++", "c++"}, "RUSTFLAGS": {"", "-D warnings", "-Dwarnings", "-Awarnings"}, "CFLAGS": {"", "-O0", "-O1", "-O2", "-O3", "-g"}, "NODE_OPTIONS": {"", "--max-old-space-size=4096", "--max-old-space-size=8192"},
	"BROWSER": {"none", ""}, "PYTHONPATH": {".", "src", ""}, "MAKEFLAGS": {""}, "IFS": {"", "\n", ",", ":"},
}

// harmlessGit are variables of git's that name no program.
var harmlessGit = []string{"GIT_PAGER_IN_USE", "GIT_TERMINAL_PROMPT", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_OPTIONAL_LOCKS", "GIT_MERGE_AUTOEDIT", "GIT_LFS_SKIP_SMUDGE"}

// steeringForms matches names of such variables that go on as one likes.
var steeringForms = regexp.MustCompile(`^(?i:npm_config_(?:.*registry|script_?shell|shell|node_?options|.*config|.*proxy|git|prefix)|CARGO_BUILD_RUST.*|CARGO_TARGET_.+_(?:RUNNER|LINKER|RUSTFLAGS)|CARGO_(?:HTTP|REGISTR).*|(?:https?|all)_proxy)$`)

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Steers reports whether a variable of the environment names programs or code, or
// where these are looked for.
func Steers(name string) bool {
	if !identifier.MatchString(name) { // a function, to bash
		return true
	}
	return strings.HasPrefix(name, "GIT_") && !slices.Contains(harmlessGit, name) || slices.Contains(steering, name) || steeringForms.MatchString(name)
}

// Plain reports whether a value of such a variable does nothing of the kind.
func Plain(name, value string) bool { return slices.Contains(plain[name], value) }
