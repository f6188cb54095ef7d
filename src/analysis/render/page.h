/*
 * Writes the data of an HTML page, as JSON in script elements that are not run. render_html.c writes the tables, and
 * page_charts() the charts. Everything from a trace is data for the page's script, never HTML.
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
 *     heat          see render_html.c; only with several ranks that have steps
 *     before, after, lines: the files of a comparison and the sentences above its tables (diff_write.c). Besides, a
 *                   comparison has only version, tables and strings
 *     strings       texts, to which the other keys refer by number
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_PAGE_H
#define GPUTRACE_ANALYSIS_RENDER_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "common/map.h"

#define PAGE_TABLE_BYTES 450000 /* of all tables; further tables have only PAGE_ROWS_LEAST rows */
#define PAGE_ROWS_LEAST 20
#define PAGE_NAME_BYTES 1200 /* limit of a text */

/* A chapter of the page that is being written. */
struct page {
    struct buffer data; /* the JSON of the chapter */
    struct json_out json;
    struct interner strings;
    size_t string_bytes;
    bool has_tables; /* the array of tables was begun */
};

void page_init(struct page *page);

/* Adds TEXT to `strings` if it is new, and writes its number. */
void page_text(struct page *page, const char *text);
/* Writes KEY and then TEXT as page_text() does. */
void page_put_text(struct page *page, const char *key, const char *text);

/* Begins the array of tables, unless it was begun. The headline must be written before. */
void page_begin_tables(struct page *page);

/* Writes `strings`, which come last, and then all data as a script element to OUT, whose `failure` is set if PAGE has a
 * failure. Releases PAGE. */
void page_end(struct page *page, struct buffer *out);

struct page;
struct profile;
struct profile_window;
struct trace;

/* Writes the data of all charts, in two threads if WORKERS is above 1. Returns 0, or -1: no memory, or after
 * error(). */
int page_charts(struct page *page, const struct trace *trace, unsigned workers);

/* Writes an element of `windows`: WINDOW, which belongs to PROFILE. */
void page_window(struct page *page, const struct profile *profile, const struct profile_window *window);

#endif
