/*
 * A file that appears under its name only when it is whole: written beside it and renamed. What goes into a file of
 * which the table of formats says so is compressed on the way: in members that can be unpacked apart, or section by section
 * (pftrace/packets.h). Only a regular file is replaced. Links are not followed: one under the
 * name is refused, and one under the temporary name leads to the next such name.
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

/* --- a file --- */

struct output {
    struct buffer buffer; /* what is written goes here, but for a database, of which it has only failures */
    char *path;
    /* Gives TEMPORARY its name when it is whole. Returns 0, or -1 after error(). NULL: it replaces PATH. */
    int (*place)(void *context, const char *temporary);
    void *place_context;
    char *temporary; /* NULL when PATH is not a regular file: then it is written in place */
    int fd;
    struct gzip *gzip;         /* for what goes through the buffer; NULL: the file is not compressed */
    struct buffer packed;      /* in memory: the compressed bytes at hand */
    struct buffer held;        /* in memory: of a .pftrace, what went through the buffer since the last whole section */
    struct database *database; /* whose file it is; NULL: it is no database */
    bool is_stream;            /* the buffer's drain takes all, and no file is written */
    bool is_part;              /* the file is a temporary one without a name */
};

/* Some text of the file that was made apart, as a rule by another thread. */
struct output_block {
    struct buffer text;   /* in memory; to be written to */
    struct buffer packed; /* the same as it stands in a compressed file */
};

void output_block_init(struct output_block *block);
void output_block_release(struct output_block *block);
/* Empties it, and keeps its space. */
void output_block_clear(struct output_block *block);

/* Once its text is whole: compresses it, with the thread's own GZIP; NULL: the file is not compressed. A failure is
 * reported by output_put(). */
void output_block_pack(struct output_block *block, struct gzip *gzip);

/* Whether a file can be written as PATH: makes a temporary file beside it and removes it. Returns 0, or -1 after
 * error().
 */
int output_try(const char *path);

/* Returns 0, or -1 after error(), then there is nothing to close. */
int output_open(struct output *output, const char *path);

/* Nothing is written: all bytes go to DRAIN, as of a buffer, in their order. ECANCELED: it has said why it failed. */
void output_open_stream(struct output *output, int (*drain)(void *context, const char *data, size_t size),
                        void *context);

/* Makes SINK one that writes FORMAT to OUTPUT, whose path says so. */
static inline void output_sink(struct output *output, struct sink *sink, const struct sink_format *format)
{
    sink_init(sink, format, &output->buffer);
    sink->context = output->database;
}

/* Puts a packed block into the file, after what went through the buffer. Returns 0, or -1 after error(). */
int output_put(struct output *output, const struct output_block *block);

/*
 * A part of the file that is written apart, by a thread of its own, and is too long for memory: what goes through
 * PART's buffer lies in a temporary file beside that of WHOLE, compressed as there. WHOLE is not a database.
 */
/* Returns 0, or -1 after error(), then there is nothing to close. Nothing of WHOLE changes. */
int output_open_part(struct output *part, const struct output *whole);
/* After the last byte. Returns 0, or -1 after error(). */
int output_end_part(struct output *part);
/* Puts a part that has ended into the file, after what went through the buffer. Returns 0, or -1 after error(). PART
 * is still to be discarded. */
int output_put_part(struct output *output, struct output *part);

/* Puts the file in its place, and sets *BYTES to its size. Returns 0, or -1 after error(): the file is as it was
 * before. Either way OUTPUT is released. */
int output_commit(struct output *output, uint64_t *bytes);

/* Removes what was written and releases OUTPUT. */
void output_discard(struct output *output);

/* Removes what is being written, wherever the program is: for a signal's handler that ends it. */
void output_abandon(void);

#endif
