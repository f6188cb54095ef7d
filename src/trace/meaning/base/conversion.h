/*
 * What a conversion is asked for, and what came of it.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_CONVERSION_H
#define GPUTRACE_TRACE_MEANING_BASE_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/frames.h"

/* How far the writing is; another thread may read it meanwhile, each number by itself. */
struct convert_progress {
    uint64_t done, total; /* TOTAL 0: it has not begun */
};

struct convert_options {
    const char *spool_directory; /* holds *.spool files and session.json */
    const struct sink *sink;     /* whose buffer is given the bytes of its format; NULL: a file is written */
    const char *output;          /* path of the trace; a name that ends in .gz is written with gzip */
    int (*place)(void *context, const char *temporary); /* gives the whole file its name, see output.h */
    void *place_context;
    struct convert_progress *progress; /* NULL: nobody asks */
    /* Facts of the run for the trace's metadata, beyond what session.json holds. */
    uint64_t ran;          /* ns from the program's start to its end; 0: not known */
    const char *exit_text; /* how the program ended: "exit 0", "signal 9 (Killed)"; NULL: not known */
    unsigned unrecorded;   /* processes that were not recorded, of which the directory has no note */
    /* Names the frames of plugins' stacks, in the trace and in the summary. NULL: they stay addresses. */
    const struct frame_namer *namer;
    unsigned workers; /* threads that write; 0: as many as there are processors. The trace is the same. */
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

/* A line that a plugin, or the program, wrote for the user at the end. */
struct convert_line {
    char *text; /* valid UTF-8 or not, as it came */
    size_t length;
    struct stack_frame *frames; /* innermost first; their texts are the namer's, or freed with them */
    size_t frame_count;         /* 0: no stack is to be shown */
};

/* Who added to the trace, of one process: plugins, and the program itself where it registered callbacks. */
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

/* Also of plugins that are all 0. */
void convert_plugins_release(struct convert_plugins *plugins);

struct convert_summary {
    uint64_t events;    /* slices, instants, asynchronous ranges and counters written; not names, not flows */
    uint64_t kernels;   /* of them */
    uint64_t bytes;     /* of the finished file */
    uint64_t unpacked;  /* of the same without compression */
    uint32_t processes; /* spool files read */
    bool cuda;          /* some process recorded CUDA */
    bool nvtx;          /* some process recorded NVTX */
    bool cpu;           /* there is something that the launcher recorded of processors */
    struct convert_losses losses;
    struct convert_plugins plugins; /* the caller's: convert_plugins_release() */
    /* Recording, or NVTX, that the user waited for in vain, and what was seen instead; "": there is none. */
    char missed[1024];
    bool missed_all; /* nothing was recorded */
};

#endif
