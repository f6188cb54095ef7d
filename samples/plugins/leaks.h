/*
 * What is allocated now, for the plugin `leaks`: found by address or handle in one step, also among millions.
 *
 * Physical memory of cuMemCreate is allocated until it was released and nothing is mapped to it any more, as the driver
 * has it. One thread at a time.
 */
#ifndef SAMPLES_PLUGINS_LEAKS_H
#define SAMPLES_PLUGINS_LEAKS_H

#include <stdbool.h>

#include <gputrace/callbacks.h>

#include "address_map.h"

struct allocation {
    uint64_t address; /* or handle */
    uint64_t bytes;   /* 0: this one is free, and `next` the next free one */
    uint64_t time;    /* when it was asked for … */
    uint64_t end;     /* … and was there */
    struct CUctx_st *context;
    uint32_t kind;      /* enum gputrace_memory_kind */
    uint32_t device;    /* GPUTRACE_NO_DEVICE: host memory */
    uint32_t stream_id; /* GPUTRACE_NO_STREAM: not stream-ordered */
    uint32_t thread;
    uint32_t stack;
    uint32_t mappings; /* addresses that are mapped to it */
    bool released;     /* of what is still mapped */
    uint32_t next;
};

struct live {
    struct allocation *list;
    uint32_t count, capacity, free; /* free: one plus the first free one, 0: none */
    struct address_map of;          /* address and sort -> one plus its place in the list */
    struct address_map mapped;      /* virtual address -> one plus the place of what is mapped there */
    struct address_map extents;     /* virtual address -> bytes mapped */
    uint64_t allocations;           /* so far */
    uint64_t unknown_frees;         /* of what was never seen allocated */
    uint64_t late_frees;            /* still to be reported, of addresses that are given again already */
    bool incomplete;                /* there was no memory for something */
};

void live_add(struct live *live, const struct gputrace_memory_allocation *what, uint32_t stack);
void live_remove(struct live *live, const struct gputrace_memory_deallocation *what);
void live_map(struct live *live, const struct gputrace_memory_mapping *what);
void live_unmap(struct live *live, const struct gputrace_memory_unmapping *what);

/* Takes away what goes with a context: all but stream-ordered and physical memory. GONE (of one element) gets their
 * count and bytes. */
struct gone {
    uint64_t count, bytes;
};
struct gone live_context_deleted(struct live *live, const struct CUctx_st *context);

void live_release(struct live *live);

/* What the plugin `leaks` prints at the end. */

struct telling {
    uint64_t start; /* times count from here */
    uint64_t least; /* bytes; places with less are added up */
    uint64_t top;   /* so many places */
};

/* Tells what is allocated, by place, the most bytes first. */
void leaks_report(const struct gputrace_host *host, const struct live *live, const struct telling *telling);

/* Writes BYTES as "4.00 KiB", EXACT ones as "4.00 KiB (4096 bytes)"; less than that as "12 bytes". */
#define LEAKS_SIZE_TEXT 48
void leaks_write_size(char text[LEAKS_SIZE_TEXT], uint64_t bytes, bool exact);

#endif
