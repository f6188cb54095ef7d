/*
 * Perf events of the kernel on a process, all its threads and all processes that it will start: CPU samples, context
 * switches, mappings, names. The kernel writes them into a ring for each processor; recorder.c reads the rings in order
 * of time. rings.c opens the events that this user is allowed to have.
 */
#ifndef GPUTRACE_PERF_RINGS_H
#define GPUTRACE_PERF_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/array.h"
#include "common/map.h"

struct perf_wanted {
    unsigned hertz; /* CPU samples per second of a thread's CPU time; 0: none */
    bool switches;  /* record when threads leave their processor and come back */
};

/* What a record reports. */
enum perf_kind {
    PERF_KIND_SAMPLE, /* the stack of a running thread */
    PERF_KIND_LEAVE,  /* the stack of a thread that leaves its processor; PERF_KIND_OUT follows */
    PERF_KIND_WAKE,   /* the thread wakes another thread */
    PERF_KIND_OUT,
    PERF_KIND_IN,
    PERF_KIND_MAP,
    PERF_KIND_NAME,
    PERF_KIND_FORK, /* the start of a thread or process */
    PERF_KIND_EXIT, /* the end of a thread */
    PERF_KIND_LOST,
};

#define PERF_STATE_UNKNOWN UINT64_MAX

/* One record. Its pointers are valid until the function that it is passed to returns. */
struct perf_record {
    enum perf_kind kind;
    uint32_t pid, tid;
    uint64_t time; /* host's CLOCK_MONOTONIC, ns */
    union {
        struct {
            bool known;                 /* whether registers and `stack` are set; otherwise `calls` is */
            uint64_t ip, sp, bp, extra; /* as in struct unwind_state */
            const uint8_t *stack;
            size_t size;
            const uint64_t *calls; /* from the kernel's walk by frame pointers, innermost first */
            size_t call_count;
            uint64_t state;      /* of PERF_KIND_LEAVE: the kernel's prev_state or PERF_STATE_UNKNOWN */
            uint32_t system_tid; /* of PERF_KIND_LEAVE: tid in the initial pid namespace; 0: unknown */
        } place;
        struct {
            uint32_t system_tid; /* of the woken thread, its tid in the initial pid namespace */
            bool interrupted;    /* an interrupt woke it while the thread of this record ran */
        } wake;
        bool preempted; /* of PERF_KIND_OUT: the thread could have run on */
        struct {
            uint64_t start, length, offset, inode;
            uint32_t major, minor;
            const char *path;
        } map;
        struct {
            const char *text;
            bool exec; /* the process became another program */
        } name;
        struct {
            uint32_t pid, tid; /* of the thread that started it; the record has pid and tid of the new thread */
        } parent;
        uint64_t lost; /* number of records that the ring had no space for */
    };
};

#define PERF_REASON_BYTES 256

/* What the kernel allows of a struct perf_wanted. */
struct perf_able {
    bool kernel;      /* samples are taken in system calls too */
    bool stack_copy;  /* stacks are copied for unwind(); otherwise the kernel walks frame pointers */
    bool leave_stack; /* there are records PERF_KIND_LEAVE */
    bool states;      /* place.state is set, and there are records PERF_KIND_WAKE */
};

struct perf_ring {
    int fd;
    void *page; /* the kernel's struct perf_event_mmap_page, then the data */
    uint8_t *data;
    uint64_t size;
    uint64_t head, tail; /* bytes that the kernel had written at the last read, and that we have read */
    uint64_t time;       /* of the next record */
    bool any;            /* there is a next record */
    bool stacks;         /* holds PERF_KIND_LEAVE alone; its lost records are not reported */
};

struct perf_rings {
    ARRAY(struct perf_ring) rings;
    ARRAY(int) others;     /* descriptors of events that write into the rings of other events */
    struct map kinds;      /* ids of events -> enum perf_source + 1 */
    struct perf_able able; /* set by perf_rings_open() */
    uint32_t state_offset, system_tid_offset, woken_offset, flags_offset;
    uint64_t *space; /* for a record that wraps around the end of its ring */
    struct pollfd *polled;
    int wait_ms; /* the longest time between two reads; shorter for small rings */
};

/* The event that wrote a sample. */
enum perf_source { PERF_SOURCE_MAIN, PERF_SOURCE_SWITCHES, PERF_SOURCE_SCHED_SWITCH, PERF_SOURCE_WAKING };

/* Opens events on process PID, which begin when it calls exec. Returns 0, or -1 with a message in REASON
 * (PERF_REASON_BYTES). Release RINGS in either case. */
int perf_rings_open(struct perf_rings *rings, pid_t pid, const struct perf_wanted *wanted, char *reason);
void perf_rings_release(struct perf_rings *rings);

/* The registers of a copied stack, in the order in which the kernel writes them. */
#if defined(__x86_64__)
#define PERF_REGISTERS UINT64_C(0x1c2)
enum { PERF_REGISTER_EXTRA, PERF_REGISTER_BP, PERF_REGISTER_SP, PERF_REGISTER_IP, PERF_REGISTER_COUNT };
#elif defined(__aarch64__)
#define PERF_REGISTERS UINT64_C(0x1e0000000)
enum { PERF_REGISTER_BP, PERF_REGISTER_EXTRA, PERF_REGISTER_SP, PERF_REGISTER_IP, PERF_REGISTER_COUNT };
#else
#define PERF_REGISTERS UINT64_C(0)
enum { PERF_REGISTER_BP, PERF_REGISTER_EXTRA, PERF_REGISTER_SP, PERF_REGISTER_IP, PERF_REGISTER_COUNT };
#endif

#endif
