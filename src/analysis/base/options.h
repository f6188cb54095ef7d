/* The options of a report. */
#ifndef GPUTRACE_ANALYSIS_BASE_OPTIONS_H
#define GPUTRACE_ANALYSIS_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/windows.h"

enum report_format { REPORT_TABLE, REPORT_CSV, REPORT_JSON, REPORT_MARKDOWN, REPORT_HTML };
enum report_names { REPORT_NAMES_FULL, REPORT_NAMES_SHORT, REPORT_NAMES_MANGLED, REPORT_NAMES_PRETTY };
enum report_unit { REPORT_UNIT_AUTO, REPORT_UNIT_NS, REPORT_UNIT_US, REPORT_UNIT_MS, REPORT_UNIT_S };

/*
 * The sections, in the order of a report. Each is a row here and a struct section in a file section_….c in the folder
 * of its topic. A word of -r selects the section of X and its PARTs. Every section has its own key in csv and json.
 *     X: constant, section_NAME, key and word of -r, title, question that it answers
 *     PART: constant, section_NAME, key, title, constant of the section that it is a part of
 */
#define REPORT_SECTIONS(X, PART)                                                                                   \
    X(FINDINGS, findings, "findings", "Findings", "What costs time, and what can be done?")                        \
    X(TIME, time, "time", "Where the time goes", "Where does the time of the run or of a step go?")                \
    X(OVERVIEW, overview, "overview", "Overview", "What ran, how busy was each GPU, what is missing?")             \
    X(CRASHES, crashes, "crashes", "Crashes and kills", "Where did a process crash or get killed?")                \
    X(HANG, hang, "hang", "Hangs", "Which rank does a job that stands still wait for?")                            \
    X(IDLE, idle, "idle", "Idle time of GPUs by cause", "Why did the GPUs do nothing?")                            \
    PART(IDLE_WHERE, idle_where, "idle-where", "Idle time by call, range and operator", IDLE)                      \
    X(GAPS, gaps, "gaps", "Largest gaps", "When did a GPU do nothing for longest?")                                \
    X(KERNELS, kernels, "kernels", "Kernels", "Which kernels take GPU time?")                                      \
    X(MEMTIME, memtime, "memtime", "Memory operations by time", "Which copies and sets take time?")                \
    X(MEMSIZE, memsize, "memsize", "Memory operations by size", "How many bytes are copied and set?")              \
    X(API, api, "api", "API calls", "Which CUDA calls take time on the host?")                                     \
    X(ERRORS, errors, "errors", "Failed API calls", "Which CUDA calls failed, and how?")                           \
    X(SYNC, sync, "sync", "Synchronisation", "Who waits for what, and how long?")                                  \
    X(LATENCY, latency, "latency", "Launch latency", "How long is it from a launch to the start of its work?")     \
    X(NVTX, nvtx, "nvtx", "NVTX ranges", "How long was each range, and what did GPUs do for it?")                  \
    PART(NVTX_TREE, nvtx_tree, "nvtx-tree", "NVTX ranges within one another", NVTX)                                \
    PART(NVTX_GPU, nvtx_gpu, "nvtx-gpu", "NVTX ranges on the GPU", NVTX)                                           \
    PART(NVTX_KERNELS, nvtx_kernels, "nvtx-kernels", "Kernels by NVTX range", NVTX)                                \
    X(STEPS, steps, "steps", "Steps", "How long do steps take, and which is the slowest?")                         \
    X(STEP_PARTS, step_parts, "slowest-step", "What differs in the slowest step", "Why is the slowest step slow?") \
    X(OPERATORS, operators, "operators", "PyTorch operators", "Which PyTorch operators take time?")                \
    X(LINES, lines, "lines", "Lines of the program", "Which lines of the program take time and memory?")           \
    X(CRITICAL_PATH, critical_path, "critical-path", "Critical path", "What decides how long the run takes?")      \
    PART(CRITICAL_NAMES, critical_names, "critical-names", "Critical path by name", CRITICAL_PATH)                 \
    X(HOST, host, "host", "Functions of the host while GPUs were idle", "What did the host run meanwhile?")        \
    X(HOST_WAITS, host_waits, "host-waits", "Time off the processor", "What did threads of the host wait for?")    \
    PART(TEMPORAL, temporal, "temporal", "Computation, communication, copies and idle", OVERLAP)                   \
    X(OVERLAP, overlap, "overlap", "Overlap", "What does each GPU do at the same time?")                           \
    X(STREAMS, streams, "streams", "Streams", "What did each stream do, and how busy was it?")                     \
    X(QUEUE, queue, "queue", "Queues of streams", "Was work queued in time, or did streams wait for the host?")    \
    PART(IDLE_STREAMS, idle_streams, "idle-streams", "Idle time of streams", QUEUE)                                \
    X(RANKS, ranks, "ranks", "Ranks", "Which rank keeps the others waiting?")                                      \
    X(STAGES, stages, "stages", "Stages of the pipeline", "How large are the bubbles of the pipeline?")            \
    X(COMM, comm, "comm", "Communication", "How long and how fast is communication?")                              \
    X(MEMORY, memory, "memory", "Memory", "Who holds GPU memory, and what is never freed?")                        \
    PART(MEMORY_PEAK, memory_peak, "memory-peak", "Memory at its peak", MEMORY)                                    \
    PART(MEMORY_LEAKS, memory_leaks, "memory-leaks", "Memory still allocated at the end", MEMORY)                  \
    PART(MEMORY_CHURN, memory_churn, "memory-churn", "Short-lived memory", MEMORY)                                 \
    PART(MEMORY_FAILURES, memory_failures, "memory-failures", "Allocations that failed", MEMORY)                   \
    X(COMPILATION, compilation, "compilation", "Compilation", "What is loaded, compiled and instantiated?")        \
    PART(PHASES, phases, "phases", "Phases of compilation", COMPILATION)                                           \
    X(RANGES, device_ranges, "ranges", "Device ranges", "How long were ranges that run in streams?")               \
    X(PLUGINS, plugins, "plugins", "Plugins", "What did plugins print, and what did they cost?")

enum report_section {
#define SECTION(constant, ...) REPORT_##constant,
    REPORT_SECTIONS(SECTION, SECTION)
#undef SECTION
        REPORT_SECTION_COUNT
};
#define REPORT_BIT(section) (UINT64_C(1) << (section))
_Static_assert(REPORT_SECTION_COUNT < 64, "sections are bits");

/* The number of rows that a section shows in formats for people, unless the user chose one. */
#define REPORT_TOP_FOR_PEOPLE 20
#define REPORT_TOP_OWN SIZE_MAX
#define REPORT_TOP_IN_PAGES 200

struct frame_namer;

struct report_options {
    const struct frame_namer *namer; /* names the frames of call stacks in spools; NULL: frames stay addresses */
    uint64_t sections;               /* a REPORT_BIT() for each wanted section; 0: all sections */
    enum report_format format;
    enum report_names names;
    enum report_unit unit;
    bool has_snapshot;   /* the section "memory" lists the allocations that were live at the time `snapshot` */
    int64_t snapshot;    /* ns after the trace's first event */
    bool by_grid;        /* kernels: a row per name, grid and block */
    bool by_shape;       /* operators: a row per name and shapes of the inputs */
    size_t top;          /* rows of each section at most; 0: all; REPORT_TOP_OWN: each section's own number */
    const char *sort;    /* name of the column to sort by; NULL: the section's own */
    unsigned workers;    /* the most threads to use; 0: as many as there are processors */
    const char *fail_on; /* ids of findings that make report_files() fail, separated by commas, or "any"; NULL: none */
    size_t width;        /* of lines, in characters: tables leave out columns and shorten names to fit; 0: no limit */
    bool of_job;         /* the trace is one rank of a job, whose report has the findings about ranks */
    bool usual;          /* if `sections` is 0: shows only the usual sections, with fewer rows */
    bool colour, bars;   /* tables use colours, and show bars */
    bool ascii;          /* tables are drawn with ASCII characters only */
    const char *columns; /* words of columns to show, "name,total"; "all"; NULL: the default columns */
    struct filter_options filter;
    struct filter_missed *missed; /* if there are several traces: those of which the filter selects nothing */
};

#endif
