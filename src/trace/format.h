/*
 * The formats of files that gputrace writes: one table, by the ending of their names.
 */
#ifndef GPUTRACE_TRACE_FORMAT_H
#define GPUTRACE_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#define SQLITE_APPLICATION_ID 0x67707472 /* of a database that is a trace: "gptr" */

struct sink_format;

enum file_content {
    FILE_EVENTS,     /* a trace: a sink writes it */
    FILE_SPEEDSCOPE, /* analysis/stack_files.h */
    FILE_FOLDED,     /* likewise */
    FILE_FLIGHT,     /* a folder of files: analysis/job/flight_files.h */
};

enum file_packing {
    PACKING_NONE,
    PACKING_MEMBERS,  /* gzip */
    PACKING_SECTIONS, /* of Perfetto's format: each section is compressed */
    PACKING_DATABASE, /* the sink writes it itself (trace/sqlite/database.h) */
};

struct file_format {
    const char *ending; /* ".json" */
    enum file_content content;
    enum file_packing packing;
    const struct sink_format *sink; /* of FILE_EVENTS */
};

/* Ending, what it is for, and the other fields of its struct. Of two endings of a name the longer one comes first. */
#define FILE_FORMATS(X)                                                                                             \
    X(".speedscope.json", "GPU time by stack of a whole trace, for speedscope.app", FILE_SPEEDSCOPE, PACKING_NONE,  \
      NULL)                                                                                                         \
    X(".speedscope.json.gz", "the same, compressed", FILE_SPEEDSCOPE, PACKING_MEMBERS, NULL)                        \
    X(".json", "trace events, for Perfetto, Chrome and HTA", FILE_EVENTS, PACKING_NONE, &chrome_json)               \
    X(".json.gz", "the same, compressed", FILE_EVENTS, PACKING_MEMBERS, &chrome_json)                               \
    X(".pftrace", "Perfetto's own format, the smallest", FILE_EVENTS, PACKING_SECTIONS, &pftrace)                   \
    X(".pftrace.gz", "the same, for tools that read no compressed packets", FILE_EVENTS, PACKING_MEMBERS, &pftrace) \
    X(".sqlite", "a table for each kind of event, for SQL", FILE_EVENTS, PACKING_DATABASE, &sqlite_rows)            \
    X(".db", "the same", FILE_EVENTS, PACKING_DATABASE, &sqlite_rows)                                               \
    X(".folded", "GPU time by stack of a whole trace, for flamegraph.pl", FILE_FOLDED, PACKING_NONE, NULL)          \
    X(".folded.gz", "the same, compressed", FILE_FOLDED, PACKING_MEMBERS, NULL)                                     \
    X(".flight", "a folder of what fr_trace of PyTorch reads, of a whole trace", FILE_FLIGHT, PACKING_NONE, NULL)

/* The format of a file of this name: the first row of the table whose ending it has. A name without any of them is
 * JSON, plain or, if it ends in ".gz", compressed. Never NULL. */
const struct file_format *file_format_of(const char *path);

/* Whether NAME has one of the endings, and something before it. */
bool file_format_is_known(const char *name);

/* Writes the endings, ".json, .json.gz or .pftrace", into the SIZE bytes of TEXT; EVENTS_ONLY: those of traces. Returns
 * TEXT. */
#define FILE_FORMAT_WORDS 256
const char *file_format_words(char text[FILE_FORMAT_WORDS], bool events_only);

#endif
