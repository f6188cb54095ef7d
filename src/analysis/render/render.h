/*
 * Output formats. A renderer writes the table of any section. Its functions are called in this order:
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
    bool several_traces, several_tables;           /* each trace, or table, needs a heading */
    const char *path;                              /* path of the trace that is written */
    bool any;                                      /* something was written already */
    size_t lines;                                  /* lines of the first screen so far */
    char left_out[512];                            /* names of sections without rows */
    char unrecorded[512];                          /* names of sections that were not recorded */
    bool dropped;                                  /* a table was too wide for all of its columns */
    struct json_out json;                          /* for the format json */
    const struct trace *trace;                     /* the trace that is written, which is finished */
    struct page page;                              /* for the format html */
    const struct ranks *ranks;                     /* the ranks of the job that is written; NULL: a trace is written */
    int64_t late;                                  /* with `ranks`: the least lateness, ns, at which a rank is marked */
    void (*windows)(void *job, struct page *page); /* with `ranks`: writes the windows of the findings */
    void *job;                                     /* the first argument of windows() */
};

struct renderer {
    void (*begin)(struct render *render);
    /* MISSING: what --trace left out, "kernel, memset". */
    void (*trace_begin)(struct render *render, const char *path, const char *missing);
    void (*table)(struct render *render, const struct table *table);
    void (*trace_end)(struct render *render);
    void (*end)(struct render *render);
};

extern const struct renderer renderer_table, renderer_csv, renderer_json, renderer_markdown, renderer_html;

/* Characters with a meaning in Markdown or HTML. */
#define RENDER_MARKDOWN "\\`*_[]<>|~&#$"

/* Appends TEXT on one line with everything visible: control characters become \n, \t, \x1b, marks of text direction
 * \u202e, and bytes that are not UTF-8 U+FFFD. Puts a backslash before each character of SPECIAL. */
void render_visible(struct buffer *buffer, const char *text, const char *special);

/* Replaces the non-ASCII characters that sections write, from START on: "us" replaces the sign for microseconds. TEXT
 * is in memory, without a failure. */
void render_ascii(struct buffer *text, size_t start);

/* Returns the number of characters of TEXT, which is its width on a terminal unless some are wide. */
size_t render_width(const char *text, size_t length);

/* Returns the width of lines of sentences: that of the terminal, or a default if it is unknown. */
size_t render_line_width(const struct render *render);

/* Writes TEXT from column AT on, wrapped between words to WIDTH. Lines after the first begin with INDENT blanks.
 * Returns the column after the last word; the last line is not ended. */
size_t render_wrapped(struct buffer *out, const char *text, size_t indent, size_t at, size_t width);

/* Writes TEXT as wrapped lines, indented by the blanks with which it begins. In an HTML page, TEXT becomes the
 * headline. */
void render_line(struct render *render, const char *text);

/*
 * Writes a stack, innermost frame first, a line for each frame: INDENT, the function, and file:line or module+offset.
 * Frames that do not belong to the program are left out: inner frames of CUDA above its calls, and frames that started
 * main() or the thread. Paths of sources below the working directory are relative to it.
 */
void frames_write(struct buffer *out, const struct stack_frame *frames, size_t count, const char *indent);

#endif
