/*
 * The data of a page of HTML, as JSON in script elements that are not run: render_html.c writes the tables, and
 * page_charts.c what is drawn besides. All that comes from a trace is data for the page's script, never HTML.
 *
 * A chapter (a trace, or a comparison) is an object:
 *     trace         the file's name
 *     span          ns
 *     not_recorded  words of --trace
 *     headline      the first line of the report, where the findings were asked for
 *     tables        word, title, none, rows (of how many, …), columns [word, title, type, flags], cells [row [cell]],
 *                   sums [cell]. A cell is a number, the number of a text of `strings`, [type, number] in a column of
 *                   type any, null, or false: not recorded.
 *     use, windows, kernels, flame, memory: page_charts.c; a job has windows alone
 *     heat          page_ranks.c; of several ranks with steps
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

#define PAGE_TABLE_BYTES 450000 /* of all tables: beyond these a table has … */
#define PAGE_ROWS_LEAST 20      /* … so many rows */
#define PAGE_NAME_BYTES 1200    /* of a text */

struct profile;
struct profile_window;
struct ranks;
struct trace;

/* A chapter that is being written. */
struct page {
    struct buffer data; /* its JSON */
    struct json_out json;
    struct interner strings;
    size_t string_bytes;
    bool has_tables; /* their array has begun */
};

void page_init(struct page *page);

/* Writes the number of TEXT in `strings`. */
void page_text(struct page *page, const char *text);
void page_put_text(struct page *page, const char *key, const char *text);

/* Begins the array of tables, unless it has begun. The headline comes before it. */
void page_begin_tables(struct page *page);

/* Writes `strings`, after all that names them, and a script element with the data to OUT, whose `failure` it sets
 * where the page has one. Releases the page. */
void page_end(struct page *page, struct buffer *out);

/* page_charts.c: writes what is drawn, in two threads where WORKERS is above 1. Returns 0, or -1: no memory, or after
 * error(). */
int page_charts(struct page *page, const struct trace *trace, unsigned workers);

/* page_charts.c: writes one of `windows`, of PROFILE. */
void page_window(struct page *page, const struct profile *profile, const struct profile_window *window);

/* page_ranks.c: writes the steps of all RANKS, if there are several, and marks those that are later than a typical one
 * by LEAST ns. Returns 0, or -1: no memory. */
int page_ranks(struct page *page, const struct ranks *ranks, int64_t least);

#endif
