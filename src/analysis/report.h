/* Reports of trace files, of gputrace, Kineto and others: the interface of this folder. */
#ifndef GPUTRACE_ANALYSIS_REPORT_H
#define GPUTRACE_ANALYSIS_REPORT_H

#include <stddef.h>

#include "analysis/base/options.h"
#include "analysis/render/render.h"

struct buffer;
struct sections;
struct table;
struct trace;

/* The columns of a table that --sort and --columns may name. */
struct report_columns {
    const struct column *columns;
    size_t count;
};

/* Writes the words of the columns of COUNT tables, "time, total", each once, into the SIZE bytes of TEXT. */
void report_list_columns(const struct report_columns *tables, size_t count, char *text, size_t size);
/* Writes the words of the columns of all sections into the SIZE bytes of TEXT. */
void report_column_words(char *text, size_t size);

/* Checks that --sort and --columns name columns of COUNT tables. Returns 0, or -1 after error(). */
int report_check_columns(const struct report_options *options, const struct report_columns *tables, size_t count);

/* Checks that the options fit together, before any file is read. MORE: COUNT tables, at most REPORT_MORE_TABLES, that
 * the report may have instead of the wanted sections. Returns 0, or -1 after error(). */
#define REPORT_MORE_TABLES 8
int report_check(const struct report_options *options, const struct report_columns *more, size_t count);

/*
 * Reads the trace files (their format by content; "-" is stdin, but not with a snapshot, for which a file is
 * read twice), each reported on its own, and writes the report to OUT. Returns 0; REPORT_FAILED_ON where a trace has a
 * finding that options.fail_on names; or -1 after error(), which names the file, the place and what was expected.
 */
#define REPORT_FAILED_ON 1
int report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out);

/* Whether the trace PATH can be read up to its first event. If not, an error() says why. */
bool report_can_read(const char *path);

/* Whether the trace PATH has the rank that is asked for. FOUND notes the ranks that it has. Returns 1, 0, or -1 after
 * error(). */
int report_has_rank(const struct report_options *options, const char *path, struct filter_found *found);

/* Writes the part of the trace INPUT that FILTER selects as OUTPUT, and returns what convert_part() does. */
struct convert_summary;
int report_write_part(const struct filter_options *filter, const char *input, const char *output,
                      struct filter_missed *missed, struct convert_summary *summary);

/* Reads the trace at PATH into SECTIONS, up to where they can fill their tables; OPTIONS outlive them. Returns 0, or -1
 * after error(). The caller releases SECTIONS in either case. */
int report_read(struct sections *sections, const struct report_options *options, const char *path);

/* Fills TABLE, which has its columns, with the rows of section NUMBER, unless --trace left out what it is about: then
 * it has no rows and is marked as unrecorded. Returns 0, or -1: no memory. */
int report_fill(struct sections *sections, unsigned number, struct table *table);

/* For other reports: a renderer as OPTIONS want it, and a table that is sorted by their column or else by SORT (a word;
 * NULL: as rows came), cut to their number of rows or else to USUAL (0: as many as any), and written. The latter
 * returns 0, or -1 after error(). */
struct render report_render(const struct report_options *options, struct buffer *out);
int report_write_table(struct render *render, struct table *table, const char *sort, size_t usual);
/* Writes a table that is sorted and cut: on the first screen it gets as many rows as there is space for. */
void report_put_table(struct render *render, struct table *table);

#endif
