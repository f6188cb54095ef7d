/*
 * What threads did at the sites of samples (host_samples.h), in words. The stack of a site shows what was done
 * ("read()", "garbage collection") and for which function of the program. Sites for which both are equal share a doing,
 * such as "read() in load_batch (train.c:41)"; lines of a function are not distinguished.
 */
#ifndef GPUTRACE_ANALYSIS_HOST_HOST_SITES_H
#define GPUTRACE_ANALYSIS_HOST_HOST_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

struct buffer;
struct trace;
struct trace_frame;

/* --- what a thread in a function of a library or of the system does: it reads, sleeps, waits for a lock, collects
 * garbage --- */

/* What a thread does. From IO to OFF it is usually off the processor.
 *      kind      what helps against it: part of a finding's advice */
#define HOST_KINDS(X)                                                                                                  \
    X(RUN, "Do it while the GPU is busy: prepare the next work, in another thread or process, before waiting for the " \
           "last.")                                                                                                    \
    X(GARBAGE, "Keep the collector out of the loop: gc.freeze() after the setup, gc.disable() in the loop, and "       \
               "gc.collect() where the GPU has work.")                                                                 \
    X(MEMORY, "Allocate once and use the memory again; an allocator such as jemalloc or tcmalloc returns less of it.") \
    X(COMPILE, "Compile before the work that is measured, and keep the compiler's cache.")                             \
    X(IMPORT, "Load libraries and import modules before the work that is measured.")                                   \
    X(IO, "Read and write while the GPU is busy: ahead of the need, in other threads or processes, in larger pieces, " \
          "or from memory.")                                                                                           \
    X(LOCK, "Hold the lock for a shorter time, or launch without it.")                                                 \
    X(GIL, "Other Python threads hold the interpreter: move their work to processes, or to code that releases the "    \
           "GIL.")                                                                                                     \
    X(WAIT, "Make what is waited for faster, or begin it earlier: more workers, a deeper queue.")                      \
    X(SLEEP, "Wait for an event instead of sleeping.")                                                                 \
    X(READY, "More threads want to run than there are processors: use fewer (OMP_NUM_THREADS), or bind them.")         \
    X(OFF, "Record it with --cpu=switches to see what the thread waited for.")

enum host_kind {
#define KIND(constant, advice) HOST_##constant,
    HOST_KINDS(KIND)
#undef KIND
        HOST_KIND_COUNT
};
extern const char *const host_kind_advice[HOST_KIND_COUNT];

static inline bool host_kind_is_off(enum host_kind kind)
{
    return kind >= HOST_IO;
}

struct host_pattern {
    enum host_kind kind;
    unsigned rank;         /* the function with the highest rank in a stack counts */
    const char *words;     /* for people; NULL: the function's name */
    const char *functions; /* separated by blanks; a '*' stands for any characters */
};

#define HOST_FUNCTION 64

/* Writes the name of a function without the prefixes and suffixes of libraries to TEXT: "read" for "__GI___libc_read".
 * Returns TEXT. */
const char *host_function_name(const char *function, char text[HOST_FUNCTION]);

/* Returns the pattern that FUNCTION matches, or NULL. */
const struct host_pattern *host_pattern_find(const char *function);

/* Whether a library of this path belongs to the system, the interpreter or CUDA, and not to the program. */
bool host_module_is_system(const char *module);

/* --- sites --- */

struct host_doing {
    uint64_t kind;           /* enum host_kind */
    uint32_t words;          /* of host_sites.words; EVENT_NO_TEXT: only the function is known */
    uint32_t function, file; /* of the program, in trace.strings; EVENT_NO_TEXT: not known */
    uint32_t reserved;
};

/* All zero is empty. */
struct host_sites {
    struct interner words;
    struct dense_map doings;             /* struct host_doing */
    ARRAY(struct host_site_doing) sites; /* by the numbers of sites in host_samples */
    struct host_frame_facts *frames;     /* by index in trace.frames */
};

struct host_site_doing {
    uint32_t doing; /* number; EVENT_NO_TEXT: not known */
    uint32_t frame; /* the program's frame: index in trace.frames; EVENT_NO_TEXT: not known */
};

/* Initialises SITES after trace_finish(). Returns 0, or -1: no memory. */
int host_sites_make(struct host_sites *sites, const struct trace *trace);
void host_sites_release(struct host_sites *sites);

static inline const struct host_doing *host_sites_doing(const struct host_sites *sites, uint32_t doing)
{
    return dense_map_row(&sites->doings, doing);
}

struct host_state;
/* Returns the number of what a thread did in STATE: the doing of the state's site, if that explains the state, else
 * "waiting for a processor", "waiting for a disk" or "off the processor" at that site. Returns EVENT_NO_TEXT without
 * memory. */
uint32_t host_sites_of_state(struct host_sites *sites, const struct host_state *state);

/* Writes DOING in words, such as "read() in load_batch (train.c:41)". FRAME has the line; EVENT_NO_TEXT: not known. */
void host_sites_write(struct buffer *out, const struct host_sites *sites, const struct trace *trace, uint32_t doing,
                      uint32_t frame);

#endif
