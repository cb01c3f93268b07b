package workspace

// What is where. All is in lower case, and matches the path itself and what is
// below it.

// worktrees are folders of an agent's own copies of the workspace: each folder
// in one is a workspace.
var worktrees = []string{".claude/worktrees", ".codex/worktrees", ".worktrees"}

// plans are files of an agent's own, which nobody obeys, in a trusted folder and in
// the home folder.
var plans = []string{".claude/plans", ".claude/todos", ".codex/plans", ".cursor/plans"}

// steering are paths below a trusted folder that tell agents, shells, builds and
// machines what to do later.
var steering = []string{
	".git/objects/info", ".github/workflows", ".github/actions", ".github/copilot-instructions.md", ".gitlab-ci.yml", ".gitlab/ci", ".circleci", ".travis.yml", ".drone.yml",
	".woodpecker", ".woodpecker.yml", ".buildkite", ".teamcity", "azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile", "appveyor.yml", ".appveyor.yml",
	".husky", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml",
	".claude", ".codex", ".cursor", ".gemini", ".windsurf", ".aider.conf.yml", ".continue", ".cline", ".clinerules", ".roo",
	".vscode", ".idea", ".zed", ".devcontainer", ".fleet",
	".cargo/config", ".cargo/config.toml", ".bazelrc", ".config",
}

// steeringNames are files that steer wherever they are in a trusted folder.
var steeringNames = []string{
	"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", ".cursorrules", ".windsurfrules", ".mcp.json", "mcp.json",
	".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", "pip.conf", ".netrc", ".gitmodules", ".gitattributes",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".kshrc", ".inputrc", ".vimrc", ".exrc", ".nvimrc", ".emacs", ".dir-locals.el",
	"package.json", "makefile", "gnumakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", // scripts of packages
	".git", ".cargo", "rust-toolchain", "rust-toolchain.toml", "mise.toml", ".mise.toml", ".tool-versions", ".direnvrc", "sitecustomize.py", "usercustomize.py", ".gdbinit", ".lldbinit", ".ssh",
}

// foreignNames are folders in which others' packages are installed.
var foreignNames = []string{"node_modules", "bower_components", "site-packages", "__pypackages__", ".venv", "venv", "vendor", "pods", ".bundle", ".gradle", ".m2"}

// unowned are other folders in which projects are others', or copies.
var unowned = []string{"downloads", "cache", "caches", "tmp", "temp", "trash", "pkg", "third_party", "dist-packages"}

// foreign are other paths of strangers' words in a trusted folder: what git
// fetched.
var foreign = []string{".git/fetch_head", ".git/refs/remotes", ".git/packed-refs", ".git/objects", ".yarn/cache", ".cargo/registry", ".cargo/git"}

// homeSteering are paths below the home folder.
var homeSteering = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".inputrc",
	".config", ".ssh", ".gnupg", ".gitconfig", ".aws", ".kube", ".docker", ".azure", ".netrc", ".npmrc", ".yarnrc", ".pypirc", ".pip", ".cargo/config", ".cargo/config.toml", ".cargo/env",
	".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".vimrc", ".vim", ".emacs", ".emacs.d", ".gdbinit", ".tmux.conf", ".xinitrc", ".xprofile", ".pam_environment", ".local/bin", ".local/share/systemd", "bin",
	"library/launchagents", "library/preferences", "appdata",
}

// systemSteering are paths of the machine's that start programs.
var systemSteering = []string{
	"/etc/cron.d", "/etc/cron.daily", "/etc/cron.hourly", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/crontab", "/var/spool/cron", "/etc/profile", "/etc/profile.d",
	"/etc/bash.bashrc", "/etc/bashrc", "/etc/zshrc", "/etc/zsh", "/etc/systemd", "/lib/systemd", "/usr/lib/systemd", "/run/systemd", "/etc/init.d", "/etc/rc.local", "/etc/ld.so.preload",
	"/etc/sudoers", "/etc/sudoers.d", "/etc/ssh", "/root/.ssh", "/library/launchdaemons", "/library/launchagents", "/etc/environment", "/etc/hosts", "/etc/passwd", "/etc/shadow", "/etc/pam.d",
}

var scratch = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev/shm"}

var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc", "/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/uptime", "/proc/loadavg", "/sys", "/nix/store", "/system", "/library", "/applications",
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/dev/tty",
}
