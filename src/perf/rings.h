/*
 * Perf events of the kernel on a process, all its threads and all processes that it will start: CPU samples, context
 * switches, mappings, names. The kernel writes them into a ring for each processor; they are read in order of time.
 * Here are which events there are, and what this user may have; recorder.c reads the rings.
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
    unsigned hertz; /* CPU samples of a thread in a second of its CPU time; 0: none */
    bool switches;  /* when threads leave processors, and come back */
};

/* What a record is, with its `kind`. */
enum perf_kind {
    PERF_KIND_SAMPLE, /* where a thread was */
    PERF_KIND_LEAVE,  /* where it was when it left the processor: before PERF_KIND_OUT */
    PERF_KIND_WAKE,   /* it woke another one */
    PERF_KIND_OUT,
    PERF_KIND_IN,
    PERF_KIND_MAP,
    PERF_KIND_NAME,
    PERF_KIND_FORK, /* of a thread, or of a process */
    PERF_KIND_EXIT, /* of a thread */
    PERF_KIND_LOST,
};

#define PERF_STATE_UNKNOWN UINT64_MAX

/* One record. What it points to is valid during the call that it is passed to. */
struct perf_record {
    enum perf_kind kind;
    uint32_t pid, tid;
    uint64_t time; /* host's CLOCK_MONOTONIC, ns */
    union {
        struct {
            bool known; /* registers and a copy of the stack, else `calls` */
            uint64_t ip, sp, bp, bx;
            const uint8_t *stack;
            size_t size;
            const uint64_t *calls; /* as the kernel's frame-pointer walk found them, innermost first */
            size_t call_count;
            uint64_t state;      /* of LEAVE: the kernel's prev_state; PERF_STATE_UNKNOWN */
            uint32_t system_tid; /* of LEAVE: the thread's number as WAKE has it; 0: not known */
        } place;
        struct {
            uint32_t system_tid; /* who is woken, as the kernel itself numbers threads */
            bool interrupted;    /* an interrupt did it while the thread ran, not the thread */
        } wake;
        bool preempted; /* of OUT: it could have run on */
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
            uint32_t pid, tid; /* who began it; pid and tid of the record are the new ones */
        } parent;
        uint64_t lost; /* records that the ring had no space for */
    };
};

#define PERF_REASON_BYTES 256

/* What there is of what was wanted. */
struct perf_able {
    bool kernel;      /* samples also while threads are in system calls */
    bool stack_copy;  /* stacks to be unwound; else the kernel's walk by frame pointers */
    bool leave_stack; /* stacks of PERF_KIND_LEAVE */
    bool states;      /* place.state, and PERF_KIND_WAKE */
};

struct perf_ring {
    int fd;
    void *page; /* the kernel's struct perf_event_mmap_page, then the data */
    uint8_t *data;
    uint64_t size;
    uint64_t head, tail; /* as far as it was written when it was looked at, and read */
    uint64_t time;       /* of the next record */
    bool any;            /* there is one */
    bool stacks;         /* it has PERF_KIND_LEAVE alone, and what is lost there is no PERF_KIND_LOST */
};

struct perf_rings {
    ARRAY(struct perf_ring) rings;
    ARRAY(int) others;     /* descriptors of events that write into rings of others */
    struct map kinds;      /* ids of events -> enum perf_source + 1 */
    struct perf_able able; /* once open */
    uint32_t state_offset, system_tid_offset, woken_offset, flags_offset;
    uint64_t *space; /* for a record that lies at the end and at the begin of its ring */
    struct pollfd *polled;
    int wait_ms; /* the longest wait: small rings fill soon */
};

/* Which event wrote a sample. */
enum perf_source { PERF_SOURCE_MAIN, PERF_SOURCE_SWITCHES, PERF_SOURCE_SCHED_SWITCH, PERF_SOURCE_WAKING };

/* Opens events on PID, which is to exec: they begin then. Returns 0; or -1, and REASON (PERF_REASON_BYTES) says why in
 * words. Release it in either case. */
int perf_rings_open(struct perf_rings *rings, pid_t pid, const struct perf_wanted *wanted, char *reason);
void perf_rings_release(struct perf_rings *rings);

/* The registers of a copied stack, in the order in which the kernel writes them. */
#if defined(__x86_64__)
#define PERF_REGISTERS UINT64_C(0x1c2) /* bx, bp, sp, ip */
#define PERF_REGISTER_COUNT 4
#else
#define PERF_REGISTERS UINT64_C(0)
#define PERF_REGISTER_COUNT 0
#endif

#endif
