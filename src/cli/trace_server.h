/*
 * Serves one file, once, from 127.0.0.1 to ui.perfetto.dev. One loop handles all connections without blocking. A
 * connection that makes no progress is closed after a while, or earlier if there are too many connections.
 */
#ifndef GPUTRACE_CLI_TRACE_SERVER_H
#define GPUTRACE_CLI_TRACE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_server {
    int file;         /* descriptor of the file, open for reading, which the caller closes */
    uint64_t size;    /* bytes of the file when it was opened */
    const char *path; /* path of the file in the URL, with its slash */
    int listener;     /* listening socket, or -1 */
};

enum trace_server_end { TRACE_SERVER_FAILED = -1, TRACE_SERVER_FETCHED, TRACE_SERVER_TIMED_OUT };

/* Opens the listening socket of SERVER, whose other fields are set. Returns 0, or -1 after error() if the port is in
 * use. */
int trace_server_open(struct trace_server *server);

/* Answers requests until the file was fetched completely, or until no byte of it was fetched for TIMEOUT_NS, if that is
 * not 0. Closes the listening socket. Returns TRACE_SERVER_FAILED after error(). */
enum trace_server_end trace_server_run(struct trace_server *server, uint64_t timeout_ns);

/* --- requests --- */

/*
 * Decides how `gputrace view` answers a request. The file is for pages of ui.perfetto.dev alone, so a request with
 * another origin, another host (as in a DNS rebinding attack), another method or another path is refused.
 */

/* The only address that ui.perfetto.dev's content security policy lets it fetch from. */
#define VIEW_PORT 9001
#define VIEW_HOST "127.0.0.1:9001"
#define VIEW_ORIGIN "https://ui.perfetto.dev"

enum view_answer {
    VIEW_INCOMPLETE, /* the head of the request is not complete yet */
    VIEW_FILE,
    VIEW_HEAD,      /* the headers of GET, without the file */
    VIEW_PREFLIGHT, /* the headers that permit the browser to fetch the file */
    VIEW_FORBIDDEN,
    VIEW_NOT_FOUND,
    VIEW_MALFORMED, /* not HTTP */
};

struct view_request {
    enum view_answer answer;
    bool private_network; /* of a preflight: asks whether a public page may fetch from a private address */
};

/* Reads a request from the LENGTH bytes at TEXT, which may be incomplete. PATH: path of the served file, with its
 * slash. */
struct view_request view_request_read(const char *text, size_t length, const char *path);

#endif
