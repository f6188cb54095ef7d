/*
 * Output formats. A renderer writes any table, of whatever section. Its functions are called in this order:
 *
 *     begin; for each trace trace_begin, table for each table, trace_end; end.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_RENDER_H
#define GPUTRACE_ANALYSIS_RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/json_out.h"
#include "analysis/base/options.h"
#include "analysis/render/page.h"
#include "trace/frames.h"

struct buffer;
struct ranks;
struct table;

struct render {
    const struct renderer *format;
    struct buffer *out;
    const struct report_options *options;
    bool several_traces, several_tables;           /* each needs a heading then */
    const char *path;                              /* of the trace that is written */
    bool any;                                      /* something was written already */
    size_t lines;                                  /* lines of the first screen so far */
    char left_out[512];                            /* names of sections without rows */
    char unrecorded[512];                          /* names of sections that were not recorded */
    bool dropped;                                  /* a table was too wide for all of its columns */
    struct json_out json;                          /* of the format json */
    const struct trace *trace;                     /* the trace that is written, which is finished */
    struct page page;                              /* of the format html */
    const struct ranks *ranks;                     /* of the job that is written; NULL: a trace is written */
    int64_t late;                                  /* for `ranks`: a rank that is late by so many ns is marked */
    void (*windows)(void *job, struct page *page); /* for `ranks`: writes the windows of the findings */
    void *job;                                     /* the first argument of windows() */
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

/* Characters with a meaning in Markdown or HTML. */
#define RENDER_MARKDOWN "\\`*_[]<>|~&#$"

/* Appends TEXT with everything visible and on one line: control characters are written as \n, \t, \x1b, marks of text
 * direction as \u202e, bytes that are not UTF-8 as U+FFFD. A backslash is put before each character of SPECIAL. */
void render_visible(struct buffer *buffer, const char *text, const char *special);

/* Replaces the characters beyond ASCII that sections write in TEXT, from START on: "us" for microseconds. TEXT is in
 * memory, without a failure. */
void render_ascii(struct buffer *text, size_t start);

/* The number of characters of TEXT, which is its width on a terminal unless some are wide. */
size_t render_width(const char *text, size_t length);

/* The width of lines of sentences: that of the terminal, if it is known. */
size_t render_line_width(const struct render *render);

/* Writes TEXT from column AT on, wrapped between words; lines after the first begin behind INDENT blanks. Returns where
 * the last line ends, which is not ended. */
size_t render_wrapped(struct buffer *out, const char *text, size_t indent, size_t at, size_t width);

/* Writes TEXT as lines, wrapped, behind the blanks that it begins with; to a page of HTML as its headline. */
void render_line(struct render *render, const char *text);

/*
 * Writes a stack, innermost frame first, a line each that begins with INDENT: function, and file:line or module+offset.
 * Frames that are not the program's are left out: CUDA's inner frames above its calls, and those that started main() or
 * the thread. Paths of sources below the working directory are relative to it.
 */
void frames_write(struct buffer *out, const struct stack_frame *frames, size_t count, const char *indent);

#endif
