/*
 * The inside of the reader of JSON: where it is in the file's text, and what it tells when something else stands there.
 */
#ifndef GPUTRACE_ANALYSIS_READER_TEXT_H
#define GPUTRACE_ANALYSIS_READER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/sink.h"
#include "analysis/input.h"
#include "analysis/parse.h"

struct reader_sink;
struct scan;

struct reader {
    struct input input;
    struct parser parser;
    const struct reader_sink *sink;
    ARRAY(uint32_t) numbers; /* of a batch's texts */
    struct sink key;         /* in memory: the key at hand of the trace's object, with a final NUL */
    int status;              /* -1 once an error was told */
    uint64_t left_out;       /* elements that are no events */
    uint64_t left_out_line, left_out_offset;
    const char *left_out_expected; /* of the first of them */
};

/* The next byte that is no white space; '\0' at the end of the file. */
char reader_next_byte(struct reader *reader);
/* Takes the byte C, where nothing else may stand. Gives 0, or -1 after error(). */
int reader_take(struct reader *reader, char c, const char *what);
/* Makes the window hold a whole value; false: the file ends first, or an error was told. */
bool reader_whole_value(struct reader *reader, struct scan *scan);

/* These give -1 after error(): WHAT should have stood here; the file ends within a value; the value is none. */
int reader_expected(struct reader *reader, const char *what);
int reader_cut_value(struct reader *reader, const char *what);
int reader_value_error(struct reader *reader, enum parse_result result, const struct scan *scan, const char *what);

#endif
