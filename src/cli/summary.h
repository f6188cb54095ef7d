/*
 * Prints messages about a trace that was written: the last line of a command, the messages of plugins, and why the
 * trace is empty.
 */
#ifndef GPUTRACE_CLI_SUMMARY_H
#define GPUTRACE_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/passes/passes.h"

/* The largest traces that a browser can load, in bytes. JSON counts uncompressed: Perfetto needs 2.4 bytes of memory
 * for each of its bytes, and has at most 4 GiB. A .pftrace counts as stored: it is compressed inside, to about a
 * fortieth of the JSON. */
#define BROWSER_JSON_MOST UINT64_C(1800000000)
#define BROWSER_PFTRACE_MOST UINT64_C(250000000)

struct buffer;

/* Returns whether records are missing or doubtful, or an option such as --capture-range waited for an event that never
 * came. */
bool summary_is_incomplete(const struct convert_summary *summary);

/* Prints the number of events, the file and its size, losses, events that never came, and where PLACE, which may be
 * NULL, has moved an older file. */
struct output_place;
void summary_print(const char *output, const struct convert_summary *summary, const struct output_place *place);

/* Prints the text of LINE, a buffer in memory, with notice(), and releases LINE. */
void summary_notice(struct buffer *line);

/* Writes "12.3 MB", in steps of 1000. */
void summary_put_size(struct buffer *buffer, uint64_t bytes);

/* Writes the messages of plugins with their call stacks. Writes the time that a plugin took if it exceeds a hundredth
 * of RUN_NS, the program's run time, or if EVERY_TIME is set. */
void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time);

/* The traced program, for run_empty_warn(). */
struct run_program {
    const char *path;      /* of the program */
    char *const *argv;     /* its arguments, argv[0] first; NULL at the end */
    const char *ranks;     /* the list of --ranks; NULL if all ranks are recorded */
    const char *directory; /* the spool directory */
    bool torch;            /* the user asked for operators of PyTorch */
};

/* Prints a warning if the program or its CUDA calls were not recorded and the cause can be found. Must be called before
 * the spool directory is removed. */
void run_empty_warn(const struct run_program *program, const struct convert_summary *summary);

/* If this gputrace runs under another one, notes in the other's spool directory that this one records the program. */
void run_empty_note_nested(void);

#endif
