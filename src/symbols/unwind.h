/*
 * Unwinds call stacks of other processes from registers and a copy of the top of the stack, by the tables that
 * compilers write for exceptions (.eh_frame), or by frame pointers if code has no such tables.
 *
 * Files stay open. Results for addresses are cached in bounded memory.
 */
#ifndef GPUTRACE_SYMBOLS_UNWIND_H
#define GPUTRACE_SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"

#define UNWIND_NO_FILE UINT32_MAX

struct unwinder;

/* SINCE is when the first of the processes began, ns of CLOCK_REALTIME. MACHINE is their processor, EM_X86_64 or
 * EM_AARCH64. Returns NULL if memory is short. */
struct unwinder *unwinder_new(uint64_t since, uint16_t machine);
void unwinder_free(struct unwinder *unwinder);

/* Returns the number of a mapped file, one for each pair of path and inode, or UNWIND_NO_FILE if memory is short. */
uint32_t unwinder_file(struct unwinder *unwinder, const char *path, uint64_t inode);
/* Returns the path that unwinder_file() got for FILE. The unwinder owns it. */
const char *unwinder_path(const struct unwinder *unwinder, uint32_t file);

struct code_range {
    uint64_t start, end;
    uint64_t offset; /* of START in the file */
    uint64_t inode;
    uint32_t file; /* of unwinder_file(); UNWIND_NO_FILE if no file is mapped */
};

/* Code of a process, sorted by address; ranges do not overlap. A struct of zeros is empty. */
struct code_map {
    ARRAY(struct code_range) items;
};

/* Adds a new mapping, which replaces older ones at its addresses. Returns 0, or -1 if memory is short. */
int code_map_add(struct code_map *map, const struct code_range *range);
/* Copies FROM to MAP. Returns 0, or -1 if memory is short. */
int code_map_copy(struct code_map *map, const struct code_map *from);
/* Returns the range that contains ADDRESS, or NULL if there is none. */
const struct code_range *code_map_find(const struct code_map *map, uint64_t address);
void code_map_release(struct code_map *map);

/* The registers and the stack of a thread, by which it is unwound. */
struct unwind_state {
    uint64_t ip, sp;
    uint64_t bp;          /* the frame pointer: x29 on aarch64 */
    uint64_t extra;       /* bx; on aarch64 x30, with the return address of a function that has not saved it */
    const uint8_t *stack; /* a copy of the stack from SP on */
    size_t size;          /* of the copy, bytes */
};

/* Writes the addresses of the calls, innermost first: the place itself, then return addresses. Returns their number, at
 * most MOST, which is 1 or more. The stack ends early where the copy ends or a frame's caller cannot be found. */
size_t unwind(struct unwinder *unwinder, const struct code_map *map, const struct unwind_state *state,
              uint64_t *addresses, size_t most);

#endif
