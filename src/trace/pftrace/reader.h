/*
 * Reads a .pftrace (or .pftrace.gz) of ours from end to end, and gives what was written into it, event by event, in the
 * file's order. Memory grows with the names in the file, not with its events.
 *
 *     struct pftrace_reader *reader = pftrace_open(path, &strings);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *     pftrace_close(reader);
 *
 * Or the packets come from elsewhere, a run at a time (packets.h), and several readers understand runs at once:
 *
 *     struct pftrace_reader *reader = pftrace_reader_new(&strings);
 *     pftrace_take(reader, &run);
 *     while ((more = pftrace_next(reader, &event)) > 0)
 *         …
 *
 * Of a trace that others wrote it gives what is like ours, and counts the rest: pftrace_left_out().
 */
#ifndef GPUTRACE_TRACE_PFTRACE_READER_H
#define GPUTRACE_TRACE_PFTRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/pftrace/arg.h"

struct interner;
struct packets_run;
struct pftrace_kernel;
struct pftrace_reader;

enum pftrace_what {
    PFTRACE_METADATA, /* name: the key; text: the value, JSON */
    PFTRACE_PROCESS,  /* pid, name, text: label, sort_index, is_gpu */
    PFTRACE_THREAD,   /* pid, tid, name, sort_index */
    PFTRACE_SLICE,    /* pid, tid, category, name, start, end, args, arrows */
    PFTRACE_INSTANT,  /* pid, tid, category, name, start, args */
    PFTRACE_ASYNC,    /* pid, tid, end_pid, end_tid, category, name, start, end, id, args */
    PFTRACE_COUNTER,  /* pid, name, start, args: its values */
};

/* Texts that come often are strings of the reader's interner: name, category and the names of arguments are the same
 * pointer and number whenever they are the same text, and live as long as it does; PFTRACE_UNKNOWN: there is none. All
 * else is valid until the next call. */
struct pftrace_event {
    enum pftrace_what what;
    uint32_t pid, tid;
    uint32_t end_pid, end_tid;
    const char *category; /* "kernel" */
    const char *name;
    uint32_t category_number, name_number; /* in the interner */
    const char *text;                      /* NULL: none */
    size_t length;
    uint64_t start, end; /* ns since pftrace_base() */
    uint64_t id;
    int64_t sort_index;
    uint32_t owner; /* of a GPU's rows: the pid of the process whose work they show */
    bool is_gpu;    /* its rows are those of a GPU */
    bool is_head;   /* the arrows end at this slice; else they start there */
    bool one_value; /* of a counter: it has one value, without a name; the argument's kind tells bytes from a value */
    uint64_t arrow_time; /* as start */
    const uint64_t *arrows;
    size_t arrow_count;
    /* Arguments: of the event alone, those that it shares with others (NULL: none), and two that are told otherwise */
    const struct pftrace_arg *args;
    size_t arg_count;
    const struct pftrace_kernel *shared;
    uint64_t cbid; /* + 1; 0: none */
    uint64_t correlation;
    bool has_correlation;
};

/* PATH may be "-", stdin. NULL after error(). STRINGS must outlive the reader. */
struct pftrace_reader *pftrace_open(const char *path, struct interner *strings);
/* Without a file. NULL after error(). */
struct pftrace_reader *pftrace_reader_new(struct interner *strings);
void pftrace_close(struct pftrace_reader *reader);

/* Reads RUN, whose bytes stay as they are until pftrace_next() gave 0. One that begins with a section may come after
 * any other; else it must follow the one before. A compressed packet that cannot be unpacked becomes the run's end,
 * PACKETS_DAMAGED. */
void pftrace_take(struct pftrace_reader *reader, struct packets_run *run);
/* Forgets all; then STRINGS may have been released, and be used again. */
void pftrace_forget(struct pftrace_reader *reader);

/* 1: *EVENT is one, valid until the next call; 0: the file, or the run, has ended; -1 after error(). A file that ends
 * within a packet gives what is before it, after a warning. */
int pftrace_next(struct pftrace_reader *reader, const struct pftrace_event **event);

/* ns of CLOCK_REALTIME; 0 before the first event with a time of a section. */
uint64_t pftrace_base(const struct pftrace_reader *reader);

/* Packets that were understood by their frame alone. */
uint64_t pftrace_left_out(const struct pftrace_reader *reader);

/* Whether a file that begins with these bytes may be one: the others that gputrace reads begin with text, or are
 * gzip. */
static inline bool pftrace_begins(const char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '\n' && !(size > 1 && (bytes[1] == '{' || bytes[1] == '[' || bytes[1] == ' '));
}

#endif
