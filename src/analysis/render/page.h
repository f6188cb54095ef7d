/*
 * The data of a page of HTML, as JSON in script elements that are not run: render_html.c writes the tables, and
 * page_charts() the charts. All that comes from a trace is data for the page's script, never HTML.
 *
 * A chapter (a trace, or a comparison) is an object:
 *     trace         the file's name
 *     span          ns
 *     not_recorded  words of --trace
 *     headline      the first line of the report, if the findings were asked for
 *     tables        word, title, none, rows (of how many, …), columns [word, title, type, flags], cells [row [cell]],
 *                   sums [cell]. A cell is a number, the number of a text of `strings`, [type, number] in a column of
 *                   type any, null, or false: not recorded.
 *     use, windows, kernels, flame, memory: page_charts(); a job has only windows
 *     heat          render_html.c; if there are several ranks with steps
 *     before, after, lines: of a comparison, instead of all but version, tables and strings: the files, and the
 *                   sentences above the tables (diff_write.c)
 *     strings       texts that the others name by number
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_PAGE_H
#define GPUTRACE_ANALYSIS_RENDER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "common/map.h"

#define PAGE_TABLE_BYTES 450000 /* of all tables: later tables have only PAGE_ROWS_LEAST rows */
#define PAGE_ROWS_LEAST 20
#define PAGE_NAME_BYTES 1200 /* of a text */

/* A chapter that is being written. */
struct page {
    struct buffer data; /* its JSON */
    struct json_out json;
    struct interner strings;
    size_t string_bytes;
    bool has_tables; /* the array of tables has begun */
};

void page_init(struct page *page);

/* Writes the number of TEXT in `strings`. */
void page_text(struct page *page, const char *text);
/* Writes the key and the number of TEXT. */
void page_put_text(struct page *page, const char *key, const char *text);

/* Begins the array of tables, unless it has begun. The headline comes before it. */
void page_begin_tables(struct page *page);

/* Writes `strings`, which come last, then the data as a script element to OUT, whose `failure` is set if the page has
 * one. Releases the page. */
void page_end(struct page *page, struct buffer *out);

struct page;
struct profile;
struct profile_window;
struct trace;

/* Writes the data of all charts, in two threads if WORKERS is above 1. Returns 0, or -1: no memory, or after error().
 */
int page_charts(struct page *page, const struct trace *trace, unsigned workers);

/* Writes one element of `windows`, a window of PROFILE. */
void page_window(struct page *page, const struct profile *profile, const struct profile_window *window);

#endif
