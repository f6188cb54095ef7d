/* Reports of traces of gputrace, Kineto and other profilers: the interface of this folder. */
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

/* Writes the words of all columns of COUNT tables, such as "time, total", each word once, to the SIZE bytes of TEXT. */
void report_list_columns(const struct report_columns *tables, size_t count, char *text, size_t size);
/* Writes the words of the columns of all sections to the SIZE bytes of TEXT. */
void report_column_words(char *text, size_t size);

/* Checks that --sort and --columns name columns of COUNT tables. Returns 0, or -1 after error(). */
int report_check_columns(const struct report_options *options, const struct report_columns *tables, size_t count);

/* Checks before any file is read that the options fit together. MORE has the columns of COUNT (at most
 * REPORT_MORE_TABLES) tables that a report has besides the wanted sections. Returns 0, or -1 after error(). */
#define REPORT_MORE_TABLES 8
int report_check(const struct report_options *options, const struct report_columns *more, size_t count);

/*
 * Reads the trace files, whose formats are detected by content, and writes a report of each to OUT. The path "-" stands
 * for stdin, which cannot be used with a snapshot because the trace is then read twice. Returns 0; REPORT_FAILED_ON if
 * a trace has a finding that options.fail_on names; or -1 after an error() that names the file, the place and what was
 * expected.
 */
#define REPORT_FAILED_ON 1
int report_files(const struct report_options *options, const char *const *paths, size_t count, struct buffer *out);

/* Whether the trace PATH can be read up to its first event. Prints an error() if not. */
bool report_can_read(const char *path);

/* Whether the trace PATH has the rank of options.filter. FOUND notes the ranks of the trace. Returns 1, 0, or -1 after
 * error(). */
int report_has_rank(const struct report_options *options, const char *path, struct filter_found *found);

/* Writes the part of the trace INPUT that FILTER selects to the file OUTPUT. Returns what convert_part() returns. */
struct convert_summary;
int report_write_part(const struct filter_options *filter, const char *input, const char *output,
                      struct filter_missed *missed, struct convert_summary *summary);

/* Reads the whole trace at PATH into SECTIONS, which can then fill their tables. OPTIONS must outlive SECTIONS. Returns
 * 0, or -1 after error(); the caller releases SECTIONS in either case. */
int report_read(struct sections *sections, const struct report_options *options, const char *path);

/* Fills TABLE, whose columns are set, with the rows of section NUMBER. If --trace left out a source of the section,
 * TABLE gets no rows and is marked as unrecorded. Returns 0, or -1: no memory. */
int report_fill(struct sections *sections, unsigned number, struct table *table);

/* These functions are for other reports. report_render() returns a renderer for OPTIONS. report_write_table() sorts
 * TABLE by the user's column, else by the column SORT (NULL: the order of the rows is kept), cuts it to the user's
 * number of rows, else to USUAL rows in the usual report (if USUAL is not 0), else to REPORT_TOP_FOR_PEOPLE rows, and
 * writes it. It returns 0, or -1 after error(). */
struct render report_render(const struct report_options *options, struct buffer *out);
int report_write_table(struct render *render, struct table *table, const char *sort, size_t usual);
/* Writes a sorted and cut TABLE. If the report is the usual first screen, rows that do not fit on it are left out. */
void report_put_table(struct render *render, struct table *table);

#endif
