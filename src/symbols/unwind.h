/*
 * Call stacks of other processes, from registers and a copy of the top of their stacks, by the tables that compilers
 * write for exceptions (.eh_frame), or by frame pointers where code has no such tables.
 *
 * Files are kept open, and what the tables say of an address is kept once it is found, in bounded memory.
 */
#ifndef GPUTRACE_SYMBOLS_UNWIND_H
#define GPUTRACE_SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

/* Whether unwind() knows this machine's registers. */
#if defined(__x86_64__)
#define UNWIND_KNOWS_MACHINE 1
#else
#define UNWIND_KNOWS_MACHINE 0
#endif

#define UNWIND_NO_FILE UINT32_MAX

struct unwinder;

/* SINCE is when the first of the processes began, ns of CLOCK_REALTIME. NULL: no memory. */
struct unwinder *unwinder_new(uint64_t since);
void unwinder_free(struct unwinder *unwinder);

/* The number of a file that was mapped; the same for the same path and inode. UNWIND_NO_FILE: no memory. */
uint32_t unwinder_file(struct unwinder *unwinder, const char *path, uint64_t inode);
/* Its path, as it was given. */
const char *unwinder_path(const struct unwinder *unwinder, uint32_t file);

struct code_range {
    uint64_t start, end;
    uint64_t offset; /* of START in the file */
    uint64_t inode;
    uint32_t file; /* of the unwinder's; UNWIND_NO_FILE: none */
};

/* Code of a process; the items are in the order of their addresses, and none overlaps another. All zero is empty. */
struct code_map {
    ARRAY(struct code_range) items;
};

/* A new mapping, which takes the place of what was at its addresses. Returns 0, or -1: no memory. */
int code_map_add(struct code_map *map, const struct code_range *range);
/* Returns 0, or -1: no memory. */
int code_map_copy(struct code_map *map, const struct code_map *from);
/* NULL: none. */
const struct code_range *code_map_find(const struct code_map *map, uint64_t address);
void code_map_release(struct code_map *map);

/* The registers and the stack of a thread, by which it is unwound. */
struct unwind_state {
    uint64_t ip, sp, bp, bx;
    const uint8_t *stack; /* a copy of what lies from SP on … */
    size_t size;          /* … so many bytes of it */
};

/* Writes the addresses of the calls, innermost first, and returns how many, at most MOST (1 or more): the place itself,
 * then return addresses. The stack ends early where the copy ends, or where nothing says how to go on. */
size_t unwind(struct unwinder *unwinder, const struct code_map *map, const struct unwind_state *state,
              uint64_t *addresses, size_t most);

#endif
