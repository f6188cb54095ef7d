/*
 * What a user may ask of a report.
 */
#ifndef GPUTRACE_ANALYSIS_BASE_OPTIONS_H
#define GPUTRACE_ANALYSIS_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/windows.h"

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_MARKDOWN, REPORT_HTML };
enum report_names { REPORT_NAMES_FULL, REPORT_NAMES_SHORT, REPORT_NAMES_MANGLED, REPORT_NAMES_PRETTY };
enum report_unit { REPORT_UNIT_AUTO, REPORT_UNIT_NS, REPORT_UNIT_US, REPORT_UNIT_MS, REPORT_UNIT_S };

/* The sections, in the order of a report. Each is one row here, and defined in a file analysis/sections/section_….c.
 *  constant   section_NAME   word of -r   title */
#define REPORT_SECTIONS(X)                                                             \
    X(FINDINGS, findings, "findings", "Findings")                                      \
    X(TIME, time, "time", "Where the time goes")                                       \
    X(OVERVIEW, overview, "overview", "Overview")                                      \
    X(CRASHES, crashes, "crashes", "Crashes and kills")                                \
    X(HANG, hang, "hang", "Hangs")                                                     \
    X(IDLE, idle, "idle", "Idle time of GPUs by cause")                                \
    X(IDLE_WHERE, idle_where, "idle-where", "Idle time by call, range and operator")   \
    X(GAPS, gaps, "gaps", "Largest gaps")                                              \
    X(HOST, host, "host", "Functions of the host while GPUs were idle")                \
    X(HOST_WAITS, host_waits, "host-waits", "Time off the processor")                  \
    X(IDLE_STREAMS, idle_streams, "idle-streams", "Idle time of streams")              \
    X(TEMPORAL, temporal, "temporal", "Computation, communication, copies and idle")   \
    X(OVERLAP, overlap, "overlap", "Overlap")                                          \
    X(RANKS, ranks, "ranks", "Ranks")                                                  \
    X(STAGES, stages, "stages", "Stages of the pipeline")                              \
    X(COMM, comm, "comm", "Communication")                                             \
    X(QUEUE, queue, "queue", "Queues of streams")                                      \
    X(KERNELS, kernels, "kernels", "Kernels")                                          \
    X(API, api, "api", "API calls")                                                    \
    X(ERRORS, errors, "errors", "Failed API calls")                                    \
    X(MEMTIME, memtime, "memtime", "Memory operations by time")                        \
    X(MEMSIZE, memsize, "memsize", "Memory operations by size")                        \
    X(SYNC, sync, "sync", "Synchronisation")                                           \
    X(LATENCY, latency, "latency", "Launch latency")                                   \
    X(NVTX, nvtx, "nvtx", "NVTX ranges")                                               \
    X(NVTX_TREE, nvtx_tree, "nvtx-tree", "NVTX ranges within one another")             \
    X(NVTX_GPU, nvtx_gpu, "nvtx-gpu", "NVTX ranges on the GPU")                        \
    X(NVTX_KERNELS, nvtx_kernels, "nvtx-kernels", "Kernels by NVTX range")             \
    X(STEPS, steps, "steps", "Steps")                                                  \
    X(STEP_PARTS, step_parts, "slowest-step", "What differs in the slowest step")      \
    X(CRITICAL_PATH, critical_path, "critical-path", "Critical path")                  \
    X(CRITICAL_NAMES, critical_names, "critical-names", "Critical path by name")       \
    X(OPERATORS, operators, "operators", "PyTorch operators")                          \
    X(LINES, lines, "lines", "Lines of the program")                                   \
    X(RANGES, device_ranges, "ranges", "Device ranges")                                \
    X(MEMORY, memory, "memory", "Memory")                                              \
    X(MEMORY_PEAK, memory_peak, "memory-peak", "Memory at its peak")                   \
    X(MEMORY_LEAKS, memory_leaks, "memory-leaks", "Memory still allocated at the end") \
    X(MEMORY_CHURN, memory_churn, "memory-churn", "Short-lived memory")                \
    X(MEMORY_FAILURES, memory_failures, "memory-failures", "Allocations that failed")  \
    X(STREAMS, streams, "streams", "Streams")                                          \
    X(COMPILATION, compilation, "compilation", "Compilation")                          \
    X(PHASES, phases, "phases", "Phases of compilation")                               \
    X(PLUGINS, plugins, "plugins", "Plugins")

enum report_section {
#define SECTION(constant, name, word, title) REPORT_##constant,
    REPORT_SECTIONS(SECTION)
#undef SECTION
        REPORT_SECTION_COUNT
};
#define REPORT_BIT(section) (UINT64_C(1) << (section))
_Static_assert(REPORT_SECTION_COUNT < 64, "sections are bits");

/* Rows of a section in tables that are read, not processed, unless the user chose. */
#define REPORT_TOP_FOR_PEOPLE 20
#define REPORT_TOP_OWN SIZE_MAX
#define REPORT_TOP_IN_PAGES 200

struct frame_namer;

/* Which events a report is about (filter.h). All zero: all. */
struct filter_options {
    struct time_bound from, to;
    const char *range; /* "NAME" or "NAME/N"; NULL: none */
    struct selected_number step, process, gpu, stream, thread;
    const char *kernel; /* a POSIX extended regular expression; NULL: none */
};

struct report_options {
    const struct frame_namer *namer; /* of call stacks in spools; NULL: they stay addresses */
    uint64_t sections;               /* REPORT_BIT() each; 0: all */
    enum report_format format;
    enum report_names names;
    enum report_unit unit;
    bool has_snapshot;   /* the section memory lists what was allocated at one time … */
    int64_t snapshot;    /* … which is this, in ns after the trace's first event */
    bool by_grid;        /* kernels: a row per name, grid and block */
    bool by_shape;       /* operators: a row per name and shapes of the inputs */
    size_t top;          /* rows of each section at most; 0: all; REPORT_TOP_OWN: each section's own number */
    const char *sort;    /* name of the column to sort by; NULL: the section's own */
    unsigned workers;    /* threads that read ahead; 0: as many as there are processors */
    const char *fail_on; /* ids of findings, separated by commas, or "any": see report_files(); NULL: none */
    size_t width;        /* of lines: tables leave out columns and shorten names to fit; 0: they do not */
    bool of_job;         /* what is found of ranks is found for the whole job, which this trace is a part of */
    bool usual;          /* without SECTIONS: the usual ones alone, with fewer rows */
    bool colour, bars;   /* of tables on a terminal */
    bool ascii;          /* tables have no other characters of their own */
    const char *columns; /* words of columns to show, "name,total"; "all"; NULL: each section's own */
    struct filter_options filter;
    bool several; /* the trace is one of several: a filter may select nothing of it */
};

#endif
