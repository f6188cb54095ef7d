/*
 * Reports over trace files in the trace-event format, ours and Kineto's: the door to this room.
 */
#ifndef GPUTRACE_ANALYSIS_REPORT_H
#define GPUTRACE_ANALYSIS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink;

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_MARKDOWN };
enum report_names { REPORT_NAMES_FULL, REPORT_NAMES_SHORT, REPORT_NAMES_MANGLED };
enum report_unit { REPORT_UNIT_AUTO, REPORT_UNIT_NS, REPORT_UNIT_US, REPORT_UNIT_MS, REPORT_UNIT_S };

/*      section    name for -r      title */
#define REPORT_SECTIONS(X)                                               \
    X(OVERVIEW, "overview", "Overview")                                  \
    X(DEATH, "death", "Crashes and kills")                               \
    X(KERNELS, "kernels", "Kernels")                                     \
    X(API, "api", "API calls")                                           \
    X(MEMTIME, "memtime", "Memory operations by time")                   \
    X(MEMSIZE, "memsize", "Memory operations by size")                   \
    X(SYNC, "sync", "Synchronisation")                                   \
    X(LATENCY, "latency", "Launch latency")                              \
    X(NVTX, "nvtx", "NVTX ranges")                                       \
    X(NVTX_TREE, "nvtx-tree", "NVTX ranges within one another")          \
    X(NVTX_GPU, "nvtx-gpu", "NVTX ranges on the GPU")                    \
    X(NVTX_KERNELS, "nvtx-kernels", "Kernels by NVTX range")             \
    X(RANGES, "ranges", "Device ranges")                                 \
    X(MEMORY, "memory", "Memory")                                        \
    X(MEMORY_PEAK, "memory-peak", "Memory at its peak")                  \
    X(MEMORY_LEAKS, "memory-leaks", "Memory still allocated at the end") \
    X(MEMORY_CHURN, "memory-churn", "Short-lived memory")                \
    X(MEMORY_FAILURES, "memory-failures", "Allocations that failed")     \
    X(STREAMS, "streams", "Streams")                                     \
    X(COMPILATION, "compilation", "Compilation")                         \
    X(PHASES, "phases", "Phases of compilation")                         \
    X(PLUGINS, "plugins", "Plugins")

enum report_section {
#define SECTION(name, word, title) REPORT_##name,
    REPORT_SECTIONS(SECTION)
#undef SECTION
        REPORT_SECTION_COUNT
};

/* Rows of a section in tables that are read, not processed, unless the user chose. */
#define REPORT_TOP_FOR_PEOPLE 20

struct interner;
struct event_sink;

/* How files are read that are not JSON: reader.h has the interface of the events. A path may be "-", stdin. */
struct report_reader {
    bool (*reads)(const char *path);
    /* As json_read(). */
    int (*read)(const char *path, struct interner *strings, const struct event_sink *sink);
};

struct report_options {
    const struct report_reader *readers; /* tried before JSON; the last has no functions. NULL: there are none */
    unsigned sections;                   /* bit 1 << enum report_section each; 0: all */
    enum report_format format;
    enum report_names names;
    enum report_unit unit;
    bool has_snapshot; /* the section memory tells what was allocated at a time … */
    int64_t snapshot;  /* … so many ns after the trace's first event */
    bool by_grid;      /* kernels: a row per name, grid and block */
    size_t top;        /* rows of each section at most; 0: all */
    const char *sort;  /* name of the column to sort by; NULL: the section's own */
    unsigned workers;  /* threads that read ahead; 0: as many as there are processors */
    size_t width;      /* of a terminal: tables shorten names to fit; 0: whole names */
};

/* Reads PATH with the reader for it. */
int report_read(const struct report_options *options, const char *path, struct interner *strings,
                const struct event_sink *sink);

/* Whether the options fit together, before any file is read. Gives 0, or -1 after error(). */
int report_check(const struct report_options *options);

/*
 * Reads the trace files (their format by content; "-" is stdin, but not with a snapshot, for which a file is
 * read twice), each reported on its own, and writes the report to OUT. Gives 0, or -1 after error(), which names the
 * file, the place and what was expected.
 */
int report_files(const struct report_options *options, const char *const *paths, size_t count, struct sink *out);

#endif
