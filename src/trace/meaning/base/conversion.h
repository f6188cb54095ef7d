/*
 * The options and the results of a conversion from spools to a trace.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_CONVERSION_H
#define GPUTRACE_TRACE_MEANING_BASE_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/frames.h"

/* How far the writing is. Another thread may read the numbers meanwhile; they do not have to match each other. */
struct convert_progress {
    uint64_t done, total; /* pieces of the trace; total 0: writing has not begun */
};

struct convert_options {
    const char *spool_directory; /* holds *.spool files and session.json */
    const struct sink *sink;     /* its buffer gets the bytes of its format; NULL: a file is written */
    const char *output;          /* path of the trace; a name that ends in .gz is written with gzip */
    int (*place)(void *context, const char *temporary); /* moves the whole file to its name, see output.h */
    void *place_context;
    struct convert_progress *progress; /* NULL: nobody asks */
    /* Facts of the run for the trace's metadata that session.json does not have. */
    uint64_t ran;          /* ns from the program's start to its end; 0: unknown */
    const char *exit_text; /* how the program ended: "exit 0", "signal 9 (Killed)"; NULL: unknown */
    unsigned unrecorded;   /* processes that were not recorded, beyond those that the directory notes */
    /* Names the frames of call stacks, in the trace and in the summary. NULL: frames stay addresses. */
    const struct frame_namer *namer;
    unsigned workers; /* threads; 0: as many as there are processors. The trace does not depend on it. */
};

/* What is missing or doubtful in the trace, one counter each. A trace without losses has all 0.
 *      field              words for the user */
#define CONVERT_LOSSES(X)                                                                                            \
    X(cupti_dropped, "record dropped by CUPTI", "records dropped by CUPTI")                                          \
    X(spool_dropped, "record dropped by the recorder", "records dropped by the recorder")                            \
    X(zero_time, "GPU record without times", "GPU records without times")                                            \
    X(in_flight, "GPU record still in flight at the end", "GPU records still in flight at the end")                  \
    X(unnamed, "kernel without a name", "kernels without a name")                                                    \
    X(unmatched_flows, "GPU record whose launching call is not in the trace",                                        \
      "GPU records whose launching call is not in the trace")                                                        \
    X(before_launch, "kernel that starts before its launch", "kernels that start before their launch")               \
    X(undecoded, "record that could not be decoded", "records that could not be decoded")                            \
    X(unmatched_ranges, "NVTX pop or end without a start", "NVTX pops and ends without a start")                     \
    X(left_out_stacks, "call stack left out", "call stacks left out")                                                \
    X(cut_stacks, "call stack cut to two functions", "call stacks cut to two functions")                             \
    X(untimed_ranges, "device range without times", "device ranges without times")                                   \
    X(unplaced, "NVTX event or sample whose clock is not known", "NVTX events and samples whose clock is not known") \
    X(cut_texts, "NVTX message or other text cut at 16 KiB", "NVTX messages and other texts cut at 16 KiB")          \
    X(cut_names, "name of a kernel cut at 16 KiB", "names of kernels cut at 16 KiB")                                 \
    X(unannounced, "call in a child of _Fork() or clone()", "calls in children of _Fork() or clone()")               \
    X(unrecorded, "process that could not be recorded", "processes that could not be recorded")                      \
    X(cuda_unrecorded, "process whose CUDA work is not recorded to its end",                                         \
      "processes whose CUDA work is not recorded to its end")                                                        \
    X(cpu_lost, "CPU sample or switch lost", "CPU samples and switches lost")

struct convert_losses {
#define FIELD(field, one, several) uint64_t field;
    CONVERT_LOSSES(FIELD)
#undef FIELD
};

/* A line that a plugin, or the program, asked to show to the user at the end. */
struct convert_line {
    char *text; /* not always valid UTF-8 */
    size_t length;
    struct stack_frame *frames; /* innermost first; their texts belong to the namer or are freed with them */
    size_t frame_count;         /* 0: the line has no stack */
};

/* A plugin of one process that added to the trace, or the program itself if it registered callbacks. */
struct convert_plugin {
    char *name;
    uint32_t pid;
    uint64_t calls; /* of its callbacks */
    uint64_t ns;    /* spent in them */
    struct convert_line *lines;
    size_t line_count;
};

/* In order of processes, then of plugins' numbers. */
struct convert_plugins {
    struct convert_plugin *items;
    size_t count;
};

/* Frees what PLUGINS holds; all zeros are allowed. */
void convert_plugins_release(struct convert_plugins *plugins);

struct convert_summary {
    uint64_t events;    /* slices, instants, asynchronous ranges and counters written; not names, not flows */
    uint64_t kernels;   /* kernels among these events */
    uint64_t bytes;     /* size of the finished file */
    uint64_t unpacked;  /* size of the trace without compression */
    uint32_t processes; /* spool files that processes wrote */
    bool cuda;          /* some process recorded CUDA */
    bool nvtx;          /* some process recorded NVTX */
    bool cpu;           /* the launcher recorded CPU samples or switches */
    struct convert_losses losses;
    struct convert_plugins plugins; /* owned by the caller: convert_plugins_release() */
    /* What the user asked for and never came (a capture, NVTX), and what was seen instead; "" if nothing is missing. */
    char missed[1024];
    bool missed_all; /* nothing was recorded */
};

#endif
