package table

// Modules are Python's own, and tools that workspaces install, that do no harm.
var Modules = []string{
	"json.tool", "py_compile", "compileall", "unittest", "pytest", "doctest", "cProfile", "venv", "build", "mypy", "ruff", "black", "flake8", "pylint", "isort", "coverage", "tox", "nox",
	"pyright", "ast", "tokenize", "dis", "sysconfig", "site", "platform", "calendar", "pre_commit",
}

// Environments are folders of packages by the names that people give them.
var Environments = []string{".venv", "venv", "env"}

// Library are other modules of Python's own, which are found before a workspace's:
// they write files that nobody names, run what stands in their arguments, or use the
// network.
var Library = []string{
	"tarfile", "zipfile", "zipapp", "gzip", "bz2", "lzma", "uu", "binhex", "quopri", "base64", "sqlite3", "dbm", "shelve", "pickle", "pydoc", "lib2to3", "timeit", "pdb", "code", "codeop", "trace",
	"profile", "runpy", "asyncio", "idlelib", "turtledemo", "webbrowser", "antigravity", "ftplib", "telnetlib", "smtpd", "smtplib", "nntplib", "poplib", "imaplib", "xmlrpc.server", "wsgiref.simple_server",
	"socketserver", "http.client", "urllib.request", "multiprocessing.spawn", "shutil", "distutils.core", "test", "mailbox",
}
