/*
 * A file that appears under its name only when it is complete: it is written beside that name and renamed. Its format
 * decides whether it is compressed while it is written: in members that can be unpacked independently, or section by
 * section (pftrace/packets.h). Only regular files are replaced. Symbolic links are not followed: a link under the name
 * is an error, and a temporary name that exists is skipped.
 */
#ifndef GPUTRACE_TRACE_OUTPUT_H
#define GPUTRACE_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/gzip/gzip.h"
#include "trace/sink.h"

struct database;

/* --- the formats of files --- */

enum file_content {
    FILE_EVENTS,     /* a trace, which a sink writes */
    FILE_SPEEDSCOPE, /* stacks for speedscope (analysis/stack_files.h) */
    FILE_FOLDED,     /* folded stacks (analysis/stack_files.h) */
    FILE_FLIGHT,     /* a folder of files (analysis/job/flight_files.h) */
};

enum file_packing {
    PACKING_NONE,
    PACKING_MEMBERS,  /* gzip */
    PACKING_SECTIONS, /* each section of Perfetto's format is compressed */
    PACKING_DATABASE, /* the sink writes the file itself (trace/sqlite/database.h) */
};

struct file_format {
    const char *ending; /* ".json" */
    enum file_content content;
    enum file_packing packing;
    const struct sink_format *sink; /* only for FILE_EVENTS */
};

/* Ending, description, and the other members of struct file_format. An ending precedes the endings that it ends
 * with. */
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

/* Returns the format of the file PATH: the first row of the table whose ending PATH has. A name without a known ending
 * is JSON, compressed if it ends in ".gz". Never returns NULL. */
const struct file_format *file_format_of(const char *path);

/* Whether NAME has an ending of the table, and is longer than the ending. */
bool file_format_is_known(const char *name);

/* Writes the list of endings, ".json, .json.gz or .pftrace", to TEXT. EVENTS_ONLY: only those of traces. Returns
 * TEXT. */
#define FILE_FORMAT_WORDS 256
const char *file_format_words(char text[FILE_FORMAT_WORDS], bool events_only);

/* --- a file --- */

struct output {
    struct buffer buffer; /* takes what is written; for a database, only failures */
    char *path;
    /* Moves the complete file TEMPORARY into place. Returns 0, or -1 after error(). NULL: it is renamed to `path`. */
    int (*place)(void *context, const char *temporary);
    void *place_context;
    char *temporary; /* name of the temporary file; NULL: `path` is a device or pipe and is written directly */
    int fd;
    struct gzip *gzip;         /* compresses what goes through the buffer; NULL: the file is not compressed */
    struct buffer packed;      /* scratch in memory: compressed bytes */
    struct buffer held;        /* in memory: the incomplete last section of a .pftrace */
    struct database *database; /* the database in the file; NULL: the file is not a database */
    bool is_stream;            /* all bytes go to the buffer's drain; no file is written */
    bool is_part;              /* the file is a temporary file without a name */
};

/* Text of the file that was made separately, usually by another thread. */
struct output_block {
    struct buffer text;   /* in memory; the caller writes to it */
    struct buffer packed; /* the text compressed, for a compressed file */
};

void output_block_init(struct output_block *block);
void output_block_release(struct output_block *block);
/* Empties the block, and keeps its memory. */
void output_block_clear(struct output_block *block);

/* Compresses the block's complete text with the thread's own GZIP. NULL: the file is not compressed. output_put()
 * reports a failure. */
void output_block_pack(struct output_block *block, struct gzip *gzip);

/* Checks that the file PATH can be written: makes a temporary file beside it and removes it. Returns 0, or -1 after
 * error(). */
int output_try(const char *path);

/* Returns 0, or -1 after error(); then there is nothing to close. */
int output_open(struct output *output, const char *path);

/* Opens an output without a file: all bytes go to DRAIN in order. DRAIN sets errno to ECANCELED if it reported its
 * failure. */
void output_open_stream(struct output *output, int (*drain)(void *context, const char *data, size_t size),
                        void *context);

/* Initialises SINK to write FORMAT, the format of OUTPUT's path, to OUTPUT. */
static inline void output_sink(struct output *output, struct sink *sink, const struct sink_format *format)
{
    sink_init(sink, format, &output->buffer);
    sink->context = output->database;
}

/* Appends a packed block to the file, after what went through the buffer. Returns 0, or -1 after error(). */
int output_put(struct output *output, const struct output_block *block);

/*
 * A part of the file that another thread writes and that may be too long for memory: what goes through PART's buffer is
 * stored in a temporary file beside that of WHOLE, compressed as WHOLE is. WHOLE must not be a database.
 */
/* Returns 0, or -1 after error(); then there is nothing to close. WHOLE does not change. */
int output_open_part(struct output *part, const struct output *whole);
/* Must be called after the last byte. Returns 0, or -1 after error(). */
int output_end_part(struct output *part);
/* Appends a part that has ended to the file, after what went through the buffer. Returns 0, or -1 after error(). The
 * caller must still discard PART. */
int output_put_part(struct output *output, struct output *part);

/* Moves the file into place, and sets *BYTES to its size. Returns 0, or -1 after error(); then the file under the name
 * is as before. Either way OUTPUT is released. */
int output_commit(struct output *output, uint64_t *bytes);

/* Removes what was written and releases OUTPUT. */
void output_discard(struct output *output);

/* Removes the temporary file that is being written. Safe in a signal handler that ends the program. */
void output_abandon(void);

#endif
