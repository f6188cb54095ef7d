/*
 * Serves one file, once, to ui.perfetto.dev from 127.0.0.1. A loop over connections that never wait for each other: one
 * that sends nothing, or takes nothing, is closed after a while, or when there are too many.
 */
#ifndef GPUTRACE_CLI_TRACE_SERVER_H
#define GPUTRACE_CLI_TRACE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_server {
    int file;         /* the caller's, open for reading */
    uint64_t size;    /* of it, when it was opened */
    const char *path; /* in the URL, with its slash */
    int listener;     /* -1: closed */
};

enum trace_server_end { TRACE_SERVER_FAILED = -1, TRACE_SERVER_FETCHED, TRACE_SERVER_TIMED_OUT };

/* Listens for SERVER, whose first three fields are set. Returns 0, or -1 after error(): the port is in use. */
int trace_server_open(struct trace_server *server);

/* Answers until the file was fetched whole, or, if TIMEOUT_NS is not 0, for so long nothing of it was. Closes the
 * listener. TRACE_SERVER_FAILED comes after error(). */
enum trace_server_end trace_server_run(struct trace_server *server, uint64_t timeout_ns);

/* --- requests --- */

/*
 * What `gputrace view` answers to a request. The file is for pages of ui.perfetto.dev alone, so everything that does
 * not look exactly as their browsers ask is refused: another origin; another host, which is how DNS rebinding looks;
 * another method or path.
 */

/* The only address that ui.perfetto.dev's content security policy lets it fetch from. */
#define VIEW_PORT 9001
#define VIEW_HOST "127.0.0.1:9001"
#define VIEW_ORIGIN "https://ui.perfetto.dev"

enum view_answer {
    VIEW_INCOMPLETE, /* the head of the request does not end yet */
    VIEW_FILE,
    VIEW_HEAD,      /* what GET would say, without the file */
    VIEW_PREFLIGHT, /* the browser asks whether it may */
    VIEW_FORBIDDEN,
    VIEW_NOT_FOUND,
    VIEW_MALFORMED, /* not HTTP */
};

struct view_request {
    enum view_answer answer;
    bool private_network; /* of a preflight: the browser asks whether a public page may fetch from a private address */
};

/* LENGTH bytes at TEXT are what came so far. PATH: of the one file that there is, with its slash. */
struct view_request view_request_read(const char *text, size_t length, const char *path);

#endif
