/*
 * What `gputrace view` answers to a request. The file is for pages of ui.perfetto.dev alone, so everything that does
 * not look exactly as their browsers ask is refused: another origin; another host, which is how DNS rebinding looks;
 * another method or path.
 */
#ifndef GPUTRACE_CLI_VIEW_REQUEST_H
#define GPUTRACE_CLI_VIEW_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

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
