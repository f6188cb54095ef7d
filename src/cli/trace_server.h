/*
 * Serves one file, once, to ui.perfetto.dev (view_request.h) from 127.0.0.1. A loop over connections that never wait
 * for each other: one that sends nothing, or takes nothing, is closed after a while, or when there are too many.
 */
#ifndef GPUTRACE_CLI_TRACE_SERVER_H
#define GPUTRACE_CLI_TRACE_SERVER_H

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

#endif
