/* `gputrace view`: opens a trace in ui.perfetto.dev, which fetches the file from this machine. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/trace_files.h"
#include "cli/trace_server.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/text.h"
#include "trace/meaning/sources.h"
#include "trace/spool/spool_directory.h"

#define TIMEOUT_NS (300 * NS_PER_S)
#define NAME_MOST 128 /* bytes of the file's name in the URL */
#define URL_MOST (sizeof(VIEW_ORIGIN "/#!/?url=http://" VIEW_HOST "/") + NAME_MOST)

struct settings {
    uint64_t timeout;
};

static const struct option_row rows[] = {
    {.word = "timeout",
     .argument = "TIME",
     .help = "end when nothing was fetched for so long, in seconds, or with a\nunit (500ms); 0: never (default: 300)",
     .type = OPTION_TIME,
     .offset = offsetof(struct settings, timeout)},
    {.word = NULL},
};

extern char **environ;

/* --- the file --- */

static int check_size(const char *path, uint64_t packed)
{
    bool pftrace = sources_is_pftrace(path);
    uint64_t most = pftrace ? BROWSER_PFTRACE_MOST : BROWSER_JSON_MOST;
    uint64_t size = pftrace ? packed : sources_unpacked_size(path, most);
    double share = 90.0 * (double)most / (double)size; /* percentage of the trace that a browser can load */
    if (size <= most)
        return 0;
    return error("'%s' is too large for a browser: %.3g GB, of %.3g GB at most. Cut a part out, and view that: "
                 "gputrace cut '%s' -o part.pftrace --to=%.*f%%",
                 path, (double)size / 1e9, (double)most / 1e9, path, share < 10 ? 2 : 0, share < 0.01 ? 0.01 : share);
}

/* Opens the trace PATH for SERVER, and checks that a browser can load it. Returns 0, or -1 after error(). */
static int open_trace(const char *path, struct trace_server *server)
{
    struct stat facts;
    if (spool_directory_is(path))
        return error("'%s' is a spool directory: write its trace first, with 'gputrace convert %s trace.pftrace'", path,
                     shell_file(path));
    server->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (server->file < 0)
        return error("cannot open '%s': %s", path, strerror(errno));
    if (fstat(server->file, &facts) != 0 || !S_ISREG(facts.st_mode))
        return error("cannot view '%s': a file is needed", path);
    server->size = (uint64_t)facts.st_size;
    if (sources_check(path) != 0)
        return -1;
    if (!sources_is_trace(path))
        return error("'%s' is not a trace: expected JSON or a .pftrace, plain or gzip", path);
    return check_size(path, server->size);
}

/* --- the browser --- */

/* Opens URL by the desktop's xdg-open. Returns false if there is no desktop or no such program. */
static bool open_browser(const char *url)
{
    char *const arguments[] = {"xdg-open", (char *)(uintptr_t)url, NULL};
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;
    if ((!x11 || !*x11) && (!wayland || !*wayland))
        return false;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID); /* the browser may run on when this process ends */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
    int failure = posix_spawnp(&child, arguments[0], &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failure == 0;
}

/* Opens the trace in a browser, or prints the link for it. Returns 0, or -1 after error(). */
static int show(const char *file, const char *url)
{
    char host[256] = "HOST";
    const char *ssh = getenv("SSH_CONNECTION");
    if (ssh && *ssh) {
        gethostname(host, sizeof(host) - 1);
        notice("run this on the machine with the browser, then open the link there:");
        printf("ssh -L %d:" VIEW_HOST " %s\n%s\n", VIEW_PORT, host, url);
    } else if (open_browser(url)) {
        notice("'%s' opens in the browser; if it does not, open this link:", file);
        printf("%s\n", url);
    } else {
        notice("open this link in a browser of this machine to see '%s':", file);
        printf("%s\n", url);
    }
    /* A browser may fail to fetch the trace without Chrome's permission or without the internet. */
    notice("if the browser asks whether ui.perfetto.dev may access this device or the local network, allow it: it "
           "cannot fetch the trace otherwise");
    notice("ui.perfetto.dev comes from the internet; where there is none: gputrace report --html=page.html %s",
           shell_file(file));
    return fflush(stdout) == 0 ? 0 : error("cannot write to standard output: %s", strerror(errno));
}

/* --- the command --- */

static int serve(struct trace_server *server, const char *file, uint64_t timeout)
{
    char path[NAME_MOST + 2], url[URL_MOST];
    const char *slash = strrchr(file, '/');
    snprintf(path, sizeof(path), "/%s", slash ? slash + 1 : file);
    for (char *at = path + 1; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            *at = '_'; /* replaces characters that must be escaped in a URL */
    server->path = path;
    snprintf(url, sizeof(url), VIEW_ORIGIN "/#!/?url=http://" VIEW_HOST "%s", path);
    if (trace_server_open(server) < 0 || show(file, url) < 0)
        return -1;
    switch (trace_server_run(server, timeout)) {
    case TRACE_SERVER_FETCHED: notice("'%s' was fetched", file); return 0;
    case TRACE_SERVER_TIMED_OUT:
        return error("nothing fetched '%s' within %.3g s: --timeout waits longer. The browser must allow "
                     "ui.perfetto.dev to access this device (Chrome: the icon left of the address, local network "
                     "access), and needs the internet; without it: gputrace report --html=page.html %s",
                     file, (double)timeout / (double)NS_PER_S, shell_file(file));
    case TRACE_SERVER_FAILED: break;
    }
    return -1;
}

static int run(int argc, char **argv)
{
    struct settings settings = {.timeout = TIMEOUT_NS};
    struct trace_server server = {.file = -1, .listener = -1};
    int first = options_parse(&command_view, &settings, argc, argv, false);
    if (first < 0)
        return first == OPTIONS_HELP ? EXIT_SUCCESS : EXIT_USAGE;
    const char *file = first < argc ? argv[first] : trace_folder_newest();
    if (!file || argc - first > 1)
        return error_usage("'view' needs a trace: 'gputrace view trace.json'");
    file = trace_folder_only(file);
    int status = file ? open_trace(file, &server) : -1;
    status = status ?: serve(&server, file, settings.timeout);
    if (server.file >= 0)
        close(server.file);
    return status < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct command command_view = {
    .name = "view",
    .operands = "[TRACE]",
    .summary = "Opens a trace in ui.perfetto.dev",
    .examples = "  gputrace view\n"
                "  gputrace view trace.pftrace\n"
                "  gputrace view --timeout=0 trace.json.gz\n",
    .options = rows,
    .run = run,
};
