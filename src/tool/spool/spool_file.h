/*
 * One spool file, mapped for reading: its header, checked, and its chunks in the order in which they were handed out.
 *
 * The file may be cut, damaged, or still being written. Nothing in it is trusted: what lies outside the file, is not
 * aligned, or has no chunk's magic ends the list there, and `damaged` counts such places. What becomes shorter while it
 * is read reads as zeros, and closing it says so. What the launcher has drained and packed is among the parts: what
 * CUPTI has recorded is unpacked when it is asked for, the library's own records when the spool is opened.
 */
#ifndef GPUTRACE_TOOL_SPOOL_SPOOL_FILE_H
#define GPUTRACE_TOOL_SPOOL_SPOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/spill.h"
#include "tool/spool/lost_pages.h"
#include "wire/spool.h"

struct spool_part {
    const uint8_t *data; /* SPOOL_ALIGN-aligned, within the mapping; of SPOOL_CUPTI ask spool_part_data() for it */
    size_t size;         /* bytes that may hold records: `used` of it when it was done, else all its room in the file */
    uint64_t sequence;
    uint64_t opened_monotonic, done_monotonic; /* as the chunk's; 0: not known */
    uint32_t thread;
    uint16_t type;     /* SPOOL_CUPTI or SPOOL_RECORDS */
    uint16_t state;    /* enum spool_chunk_state; SPOOL_DONE of what was drained */
    bool drained;      /* it lies in the packed file … */
    bool in_memory;    /* … and was unpacked into ordinary memory, which cannot be given back */
    uint32_t packed;   /* … in so many bytes, which spool_part_data() unpacks; 0: as it is */
    uint32_t columned; /* bytes of it between one step of that and the next */
};

struct spool_file {
    const uint8_t *map;
    size_t size;
    struct spool_header header;     /* a copy; its texts end with a NUL */
    ARRAY(struct spool_part) parts; /* by sequence; free chunks are left out */
    struct lost_pages lost;
    const uint8_t *packed; /* the packed file; NULL: there is none */
    size_t packed_size;
    struct lost_pages packed_lost;
    struct spill unpacked; /* what was unpacked of the library's own records */
    uint64_t damaged;
    bool is_written; /* the process that writes it lives, and what it does from now on is not seen */
};

/*
 * DIRECTORY is the caller's as long as the file is open: what is unpacked of the library's own records lies there, in a
 * file without a name, as large as they were before they were packed; NULL: in memory.
 *
 * Gives 0; 1 when the file holds nothing yet (its writer died before the header was whole) or is not a spool that this
 * version reads, after warning(); -1 after error(). Only after 0 there is something to close.
 */
int spool_file_open(struct spool_file *file, const char *path, const char *directory);
void spool_file_close(struct spool_file *file);

/* Where one thread unpacks parts, one after another: 2.3 MiB. Starts as zeros; released at its end. */
struct spool_scratch {
    uint8_t *bytes;
};
void spool_scratch_release(struct spool_scratch *scratch);

/* The part's `size` bytes, SPOOL_ALIGN-aligned: where they lie, or unpacked into SCRATCH, until it is used again. NULL:
 * they are damaged, or there is no memory for them. What parts of SPOOL_RECORDS hold stays valid while the file is
 * open. */
const uint8_t *spool_part_data(const struct spool_part *part, struct spool_scratch *scratch);

/* This part was read and is not needed for now: its pages need not stay in our memory. What points there stays valid.
 */
void spool_part_rest(const struct spool_part *part);

/* The same of all parts, and of what the kernel has mapped around them. Others may be reading them. */
void spool_file_rest(const struct spool_file *file);

#endif
