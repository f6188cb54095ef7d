/*
 * Prints what a user reads about a trace that was written: its last line, the messages of plugins, and why it has
 * nothing of a program.
 */
#ifndef GPUTRACE_CLI_SUMMARY_H
#define GPUTRACE_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/meaning/passes/passes.h"

/* What a browser can load, in bytes: of JSON, unpacked, of which Perfetto takes 2.4 bytes of memory each, and 4 GiB at
 * most; of a .pftrace, as it lies in the file, since it is compressed inside and about a fortieth of the JSON. */
#define BROWSER_JSON_MOST UINT64_C(1800000000)
#define BROWSER_PFTRACE_MOST UINT64_C(250000000)

struct buffer;

/* Whether records are missing or doubtful, or --capture-range or another option waited for something that never came.
 */
bool summary_is_incomplete(const struct convert_summary *summary);

/* Prints events, file, size, losses, what never came, and what became of a file that was there; PLACE may be NULL. */
struct output_place;
void summary_print(const char *output, const struct convert_summary *summary, const struct output_place *place);

/* Prints LINE, of memory, with notice(), and releases it. */
void summary_notice(struct buffer *line);

/* Writes "12.3 MB", in steps of 1000. */
void summary_put_size(struct buffer *buffer, uint64_t bytes);

/* Writes the lines of plugins with their call stacks, and the time spent in a plugin when it is more than a hundredth
 * of RUN_NS, the program's time, or EVERY_TIME. */
void run_plugins_write(struct buffer *out, const struct convert_plugins *plugins, uint64_t run_ns, bool every_time);

/* A program of which the trace may have nothing. */
struct run_program {
    const char *path;      /* of the program */
    char *const *argv;     /* its arguments, argv[0] first; NULL at the end */
    const char *ranks;     /* that were to be recorded; NULL: all */
    const char *directory; /* of the spools */
    bool torch;            /* operators of PyTorch were asked for */
};

/* Prints a warning, if there is a reason. Before the directory is removed. */
void run_empty_warn(const struct run_program *program, const struct convert_summary *summary);

/* Notes for another gputrace that runs this one that this one records the program. */
void run_empty_note_nested(void);

#endif
