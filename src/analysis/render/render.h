/*
 * Output formats: a renderer writes any table and knows no section.
 *
 *     begin, then for each trace: trace_begin, table…, trace_end; then end.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_RENDER_H
#define GPUTRACE_ANALYSIS_RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/json_out.h"
#include "analysis/base/options.h"
#include "analysis/render/page.h"

struct buffer;
struct ranks;
struct table;

struct render {
    const struct renderer *format;
    struct buffer *out;
    const struct report_options *options;
    bool several_traces, several_tables; /* then each needs a heading of its own */
    const char *path;                    /* of the trace that is written */
    bool any;                            /* something was written already */
    size_t lines;                        /* of the first screen that are written */
    char left_out[512];                  /* names of sections that had no rows, */
    char unrecorded[512];                /* and of those that were not recorded */
    bool dropped;                        /* a table had not enough space for all of its columns */
    struct json_out json;                /* of the format json */
    const struct trace *trace;           /* that is written; it is finished */
    struct page page;                    /* of the format html */
    const struct ranks *ranks;           /* of a job, which has these instead of a trace; NULL: a trace is written */
    int64_t late;                        /* of `ranks`: ns that a rank is late at least to be marked */
    void (*windows)(void *job, struct page *page); /* of `ranks`: writes the windows of the findings */
    void *job;                                     /* which that gets */
};

struct renderer {
    void (*begin)(struct render *render);
    /* MISSING: the words of what --trace left out, "kernel, memset". */
    void (*trace_begin)(struct render *render, const char *path, const char *missing);
    void (*table)(struct render *render, const struct table *table);
    void (*trace_end)(struct render *render);
    void (*end)(struct render *render);
};

extern const struct renderer renderer_table, renderer_csv, renderer_json, renderer_markdown, renderer_html;

/* What Markdown or HTML would take for its own. */
#define RENDER_MARKDOWN "\\`*_[]<>|~&#$"

/* Appends TEXT with everything visible and on one line: control characters become \n, \t, \x1b, those that turn the
 * direction of text \u202e, bytes that are not UTF-8 U+FFFD. A backslash goes before each character of SPECIAL. */
void render_visible(struct buffer *buffer, const char *text, const char *special);

/* render_paragraphs.c: writes TEXT from column AT on, and lines after the first behind INDENT blanks. Returns
 * where the last line ends, which is not ended. */
size_t render_wrapped(struct buffer *out, const char *text, size_t indent, size_t at, size_t width);
/* Writes TEXT as a line of its own, or several, behind the blanks that it begins with; to a page as its headline. */
void render_line(struct render *render, const char *text);
/* Writes the rows of a table of paragraphs. */
void render_paragraphs(struct render *render, const struct table *table, bool markdown);

/* Replaces the characters that sections write themselves in TEXT, from START on, for terminals that have ASCII alone:
 * "us" for microseconds. TEXT is in memory, and has had no failure. */
void render_ascii(struct buffer *text, size_t start);

/* Characters of TEXT, as a terminal counts columns for all but the wide ones. */
size_t render_width(const char *text, size_t length);

#endif
