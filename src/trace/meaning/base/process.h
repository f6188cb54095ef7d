/*
 * The state that the passes share: of one process, of the whole conversion, of the run (session.json), and of a thread
 * that writes. Each topic declares what it keeps of a process in its own header; the driver (passes.c) allocates these
 * structs beside the process. The write pass does not change them, except for what a single function uses, so that
 * several threads can write at once.
 */
#ifndef GPUTRACE_TRACE_MEANING_BASE_PROCESS_H
#define GPUTRACE_TRACE_MEANING_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/meaning/base/conversion.h"
#include "trace/sink.h"
#include "trace/spool/event_record.h"
#include "trace/spool/spool_file.h"

struct json_out;
struct piece_writer;

/*
 * What each topic keeps of a process: a struct of its header, and the process's field that points to it. A struct that
 * holds more than the lists of passes.c name has functions: init() gets the directory for files of what memory cannot
 * hold (NULL: there is no directory), evict() lets the kernel take pages back, release() frees everything.
 *      struct                field              init, evict, release */
#define PROCESS_TOPICS(X)                                                                                          \
    X(clock_axis, clocks, no_init, no_evict, no_release)                                                           \
    X(capture_intervals, capture_intervals, no_init, no_evict, no_release)                                         \
    X(plugin_intervals, plugin_intervals, plugin_intervals_init, plugin_intervals_evict, plugin_intervals_release) \
    X(kernel_names, kernel_names, no_init, no_evict, kernel_names_release)                                         \
    X(captures, captures, no_init, no_evict, no_release)                                                           \
    X(graph_streams, graph_streams, no_init, no_evict, graph_streams_release)                                      \
    X(launches, launches, launches_init, launches_evict, launches_release)                                         \
    X(conditional_launches, conditional, conditional_launches_init, no_evict, no_release)                          \
    X(nvtx, nvtx, nvtx_init, nvtx_evict, nvtx_release)                                                             \
    X(operators, operators, no_init, no_evict, no_release)                                                         \
    X(communication, collectives, no_init, no_evict, no_release)                                                   \
    X(memory, memory, no_init, no_evict, memory_release)                                                           \
    X(pools, pools, no_init, no_evict, no_release)                                                                 \
    X(cuda_events, cuda_events, no_init, no_evict, no_release)                                                     \
    X(device_ranges, device_ranges, no_init, no_evict, no_release)                                                 \
    X(compilation, compilation, no_init, no_evict, no_release)                                                     \
    X(plugins, plugins, no_init, no_evict, no_release)                                                             \
    X(stacks, stacks, no_init, no_evict, no_release)                                                               \
    X(cpu_stacks, cpu_stacks, no_init, no_evict, no_release)                                                       \
    X(cpu_scope, cpu_scope, no_init, no_evict, no_release)
#define TOPIC(type, ...) struct type;
PROCESS_TOPICS(TOPIC)
#undef TOPIC

/* The name that was given to an object; the text lies in the spool. */
struct given_name {
    uint64_t time; /* when the name was given, ns */
    bool by_program;
    const char *text;
    uint32_t length;
};

struct process_gpu {
    uint32_t device, pid;
};

/* One spool file: one process, or one image of it. */
struct process {
    struct conversion *conversion;
    struct spool_file file;
    void (*rest)(const struct process *process); /* evicts what the process holds: evict_process() of passes.c */
    uint32_t part;                               /* the part whose findings are being joined (parallel_scan.h) */
    uint16_t record_bytes[SPOOL_CUPTI_KINDS];
    uint32_t index;                 /* among the processes of the trace */
    uint32_t pid;                   /* in the trace: the system's pid, unless another process of the trace has it */
    uint64_t first_time, last_time; /* ns; first_time 0: the process has no event */
    bool cuda, nvtx_seen;
    bool nvtx_wanted; /* an NVTX event of a recorded domain was seen */
    bool agent_waits; /* the agent recorded synchronisation, so CUPTI's records of it are left out */
    struct convert_losses losses;

#define TOPIC(type, field, ...) struct type *field;
    PROCESS_TOPICS(TOPIC)
#undef TOPIC
    struct pointer_names symbols;
    struct tracks tracks;
    struct tracks waits;              /* of recorded waits, until the devices of all contexts are known */
    uint64_t async_before;            /* how many ids of asynchronous ranges earlier processes use */
    struct mapping_text mapping_text; /* for the namer, made at its first use; mapping_lines has its text */
    struct buffer mapping_lines;
    ARRAY(struct device) devices;
    struct map device_of_context; /* context -> device + 1 */
    struct map stream_of_handle;  /* CUstream -> stream id + 1 */
    struct map context_of_handle; /* CUcontext -> context id */
    ARRAY(struct given_name) names;
    struct map name_of_thread; /* thread -> index + 1 in names; the three maps below are alike */
    struct map name_of_stream;
    struct map name_of_device;
    struct map name_of_context;
    ARRAY(struct process_gpu) gpus;
    ARRAY(struct event) crash_records; /* EVENT_CRASH, EVENT_OPEN_CALL */
};

struct conversion {
    const struct convert_options *options;
    ARRAY(struct process *) processes;
    size_t by_launcher;  /* how many of these spools the launcher wrote: cpu.h */
    struct spill memory; /* holds the processes */
    struct map images;   /* process_image_key() -> index of the latest image of that process */
    struct session_note *session;
    struct missed *missed;
    struct cpu_scopes *cpu_scopes;
    struct names names;
    struct rows rows;
    struct sink sink;
    struct convert_losses losses; /* the sum over all processes */
    struct convert_plugins plugins;
    struct {
        struct buffer frames;   /* the JSON object "stackFrames", after gather_stacks() */
        struct interner places; /* the place, "function (file:line)", that each stack is known by */
        bool any;               /* frames is not empty */
    } stacks;
    uint64_t base;            /* ns; times in the trace count from here */
    uint32_t arg_lists;       /* how many struct arg_list have a number */
    uint64_t events, kernels; /* how many were written */
    struct noting *noting;    /* non-NULL only while metadata.c writes notes */
};

/* The key of PROCESS in conversion.images. */
uint64_t process_image_key(const struct process *process);
/* Returns the latest image of the process of PROCESS that has been opened so far, or NULL if there is none. */
const struct process *conversion_latest_image(const struct conversion *conversion, const struct process *process);
/* Loops over processes call this with the number of processes done; each 2048th call evicts the processes' memory. */
void conversion_evict(const struct conversion *conversion, size_t passed);
/* Returns process number I. For loops over all processes: evicts now and then. */
static inline struct process *conversion_process(const struct conversion *conversion, size_t i)
{
    conversion_evict(conversion, i);
    return conversion->processes.items[i];
}

/* Whether two spools are of images of one process. Its pid alone does not tell: a later process, or one in another
 * namespace of pids, may have the same. */
bool is_same_process(const struct spool_header *a, const struct spool_header *b);
/* Lets the kernel take back the pages of the process's indexes and spool. A walk calls this after so many bytes of
 * parts, or so many items of an index. */
#define PROCESS_EVICT_BYTES ((uint64_t)16 << 20)
#define PROCESS_EVICT_ITEMS ((size_t)1 << 16)
static inline void process_evict(const struct process *process)
{
    process->rest(process);
}
/* A walk over an index calls this when item number I is done. */
static inline void process_passed(const struct process *process, size_t i)
{
    if (i % PROCESS_EVICT_ITEMS == PROCESS_EVICT_ITEMS - 1)
        process_evict(process);
}
/* A walk calls this when PART is done. *WALKED, 0 at first, counts the bytes since the last eviction. */
void process_walked(const struct process *process, const struct spool_part *part, uint64_t *walked);

/* Whether any of BITS (enum trace_bits) was to be recorded; true if the header does not say. */
bool process_was_to_record(const struct process *process, uint64_t bits);
/* Whether TIME is near enough to the process's start to be right. 0 is not. */
bool process_knows_time(const struct process *process, uint64_t time);
/* Whether the event's start and end are times of the process, in this order. */
bool process_knows_span(const struct process *process, const struct event *event);
/* The pid of a device's rows. Returns 0, or -1 after error(). */
int process_gpu_pid(struct process *process, uint32_t device, uint32_t *pid);
/* Return the track of a stream, or of a thread (of work, compilation or a plugin); create it if it is new. Return NULL
 * after error(). */
struct track *process_stream(struct process *process, enum track_kind kind, uint32_t device, uint32_t context,
                             uint32_t stream);
struct track *process_thread(struct process *process, enum track_kind kind, uint32_t number);
/* Returns DEVICE, or, if that is EVENT_NO_DEVICE, the device of CONTEXT; if that is unknown too, the first device. */
uint32_t process_device(const struct process *process, uint32_t device, uint32_t context);
/* Returns NULL if the spool does not describe the device. */
const struct device *process_device_info(const struct process *process, uint32_t device);
/* Returns the name of OBJECT in NAMES, one of the process's maps, or NULL if it has none. */
const struct given_name *process_name(const struct process *process, const struct map *names, uint64_t object);
/* Whether the thread, by its name, is one of those that run PyTorch's backward pass while its caller waits. */
bool process_is_of_autograd(const struct process *process, uint32_t thread);
/* Widens first_time and last_time of the process to hold START and END. */
void widen_process_time(struct process *process, uint64_t start, uint64_t end);
/* For the index pass: widens the process's time by the event. Returns false, and counts the event as undecoded, if its
 * times cannot be right. */
bool process_index_span(struct process *process, const struct event *event);

/* Names OBJECT in MAP as EVENT says. A name by the program counts more than others, then the later one does.
 * Returns 0, or -1 after error(). */
int put_given_name(struct process *process, struct map *map, uint64_t object, const struct event *event,
                   bool by_program);

/*
 * The functions that the passes call with an event: the rows of common/record_kinds.h and
 * trace/spool/event_record.h name them. Each is in the
 * file of its topic. They return 0, or -1 after error().
 */

#define FUNCTIONS(index, resolve, write)                             \
    int index(struct process *process, const struct event *event);   \
    int resolve(struct process *process, const struct event *event); \
    int write(struct piece_writer *out, struct process *process, const struct event *event);
#define CUPTI_ROW(number, kind, groups, on, sizes, event, decode, type, last, index, resolve, write, cause) \
    FUNCTIONS(index, resolve, write)
#define AGENT_ROW(record, event, decode, index, resolve, write) FUNCTIONS(index, resolve, write)
#define ALSO(...)
CUPTI_KINDS(CUPTI_ROW, ALSO)
AGENT_RECORDS(AGENT_ROW, ALSO)
#undef ALSO
#undef AGENT_ROW
#undef CUPTI_ROW
#undef FUNCTIONS

/* --- session.json, the launcher's note about the run --- */

struct session_note {
    void *json;               /* cJSON; NULL if there is no session.json */
    int64_t rank, world_size; /* -1: not known, or the program starts several processes with ranks */
    const char *host;         /* NULL: unknown */
};

void session_note_read(struct session_note *session, const char *directory);
/* The value of an option of the run; NULL, or 0, if the note does not have it. */
const char *session_note_text(const struct session_note *session, const char *option);
uint64_t session_note_number(const struct session_note *session, const char *option);
/* Writes what the note says about the run as keys of the object that JSON is in. */
void session_note_put(const struct session_note *session, struct json_out *json);

/* Where a thread's last searches for NVTX ranges ended, for some of the tracks: the next searches begin there. Starts
 * as zeros. */
struct nvtx_places {
    struct nvtx_place {
        uint32_t track; /* index + 1 */
        uint32_t open;  /* the innermost range that was open at that place: index + 1 */
        size_t started; /* how many ranges had started by then */
        uint64_t ended; /* when the last range within the open one had ended; 0: there was none */
    } of_track[16];
};

/* The state of one thread that writes: its sink, and what it remembers within a piece. */
struct piece_writer {
    struct conversion *conversion;
    struct sink sink;
    struct spool_scratch scratch;
    struct tracks_recent tracks;
    struct nvtx_places operators; /* for the operators around the calls that are written */
    uint32_t part;                /* index in the spool of the part with CUPTI's records that is being written */
    struct map gpu_ops;           /* of this part: correlation -> how many GPU operations were written + 1 */
    uint64_t kernels;             /* written in this piece */
    size_t passed;                /* items written since pages were last evicted */
    uint64_t rested;              /* bytes of text that had been written at the last eviction */
};

/* Pages of what was read are evicted after so many bytes of text, or so many events. */
#define PIECE_WRITER_EVICT_BYTES ((uint64_t)32 << 20)
#define PIECE_WRITER_EVICT_EVENTS ((size_t)1 << 16)
/* A function that writes a whole index calls this after each item: evicts the process's pages now and then. */
static inline void piece_writer_passed(struct piece_writer *out, const struct process *process)
{
    uint64_t written = out->sink.buffer->total;
    if (++out->passed < PIECE_WRITER_EVICT_EVENTS && written - out->rested < PIECE_WRITER_EVICT_BYTES)
        return;
    process_evict(process);
    out->passed = 0;
    out->rested = written;
}

/* Writes a slice from START to END. */
static inline void piece_writer_slice(struct piece_writer *out, enum category category, struct name name,
                                      struct row row, uint64_t start, uint64_t end, const struct args *args)
{
    const struct slice slice = {
        .category = category, .name = name, .row = row, .start = start, .end = end, .args = args};
    out->sink.format->slice(&out->sink, &slice);
}

/* Writes an instant, on the first row of TRACK. */
static inline void piece_writer_instant(struct piece_writer *out, enum category category, struct name name,
                                        const struct track *track, uint64_t time, const struct args *args)
{
    const struct slice instant = {
        .category = category, .name = name, .row = {track->pid, track->tids[0]}, .start = time, .args = args};
    out->sink.format->instant(&out->sink, &instant);
}

static inline struct track *piece_writer_track(struct piece_writer *out, struct process *process, enum track_kind kind,
                                               uint32_t device, uint32_t context, uint32_t number)
{
    return tracks_look(&process->tracks, &out->tracks, kind, device, context, number);
}

#endif
