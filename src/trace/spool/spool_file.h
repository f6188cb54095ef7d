/*
 * One spool file: its header, checked, and its chunks in the order in which they were handed out.
 *
 * The file may be cut, damaged, or still being written, also by a program that writes anywhere. Nothing in it is
 * trusted: what lies outside the file, is not aligned, or has no chunk's magic ends the list there, and `damaged`
 * counts such places. Bytes are copied first, then checked, then used: nothing is looked at in the file itself, which
 * may have changed since. So the library's own records, to which indexes point, are copied when the spool is opened;
 * what CUPTI has recorded is read when it is asked for, each time as it is then. What the launcher has drained and
 * packed is among the parts, and is unpacked on the way. What becomes shorter while it is read reads as zeros, and
 * closing says so.
 */
#ifndef GPUTRACE_TRACE_SPOOL_SPOOL_FILE_H
#define GPUTRACE_TRACE_SPOOL_SPOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/spool.h"

/* How a source is opened: a pipe or a device must not hold us up. */
#define SPOOL_SOURCE_OPEN (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* A file that parts lie in; it is open only while something is read. */
struct spool_source {
    char *path;
    bool shorter; /* than it was when the spool was opened */
};

struct spool_part {
    const uint8_t *data; /* of SPOOL_RECORDS, SPOOL_ALIGN-aligned; of SPOOL_CUPTI ask spool_part_data() for it */
    struct spool_source *source; /* where its bytes are … */
    uint64_t offset;             /* … in that file */
    size_t size; /* bytes that may hold records: `used` of it when it was done, else all its space in the file */
    uint64_t sequence;
    uint64_t opened_monotonic, done_monotonic; /* as the chunk's; 0: not known */
    uint32_t thread;
    uint16_t type;     /* SPOOL_CUPTI or SPOOL_RECORDS */
    uint16_t state;    /* enum spool_chunk_state; SPOOL_DONE of what was drained */
    bool drained;      /* it lies in the packed file … */
    bool in_file;      /* `data` lies in a file without a name, so that its pages can be given back */
    uint32_t packed;   /* … in so many bytes, which are unpacked when they are read; 0: as it is */
    uint32_t columned; /* bytes of it between one step of that and the next */
};

struct spool_file {
    size_t size;
    struct spool_header header;     /* a copy; its texts end with a NUL */
    ARRAY(struct spool_part) parts; /* by sequence; free chunks are left out */
    struct spool_source spool, packed;
    uint8_t *copied;       /* the library's own records, where they are few … */
    struct spill unpacked; /* … and where they are many */
    uint64_t damaged;
    bool is_written; /* the process that writes it lives, and what it does from now on is not seen */
};

/* Memory for the parts that one thread reads, one after another: 3.3 MiB. Starts as zeros; released at its end. */
struct spool_scratch {
    uint8_t *bytes;
};
void spool_scratch_release(struct spool_scratch *scratch);

/* The part's `size` bytes, SPOOL_ALIGN-aligned: of SPOOL_RECORDS where they lie as long as the file is open, of
 * SPOOL_CUPTI a copy in SCRATCH, until it is used again. NULL: they are damaged, or out of memory. */
const uint8_t *spool_part_data(const struct spool_part *part, struct spool_scratch *scratch);

/* This part was read and is not needed for now: its pages need not stay in our memory. What points there stays valid.
 */
void spool_part_evict(const struct spool_part *part);

/* Does that for all parts. Other threads may be reading them. */
void spool_file_evict(const struct spool_file *file);

/*
 * DIRECTORY is the caller's as long as the file is open: the copy of the library's own records lies there, in a file
 * without a name, as large as they were before they were packed; NULL: in memory. FILE stays where it is meanwhile.
 *
 * Returns 0; 1 when the file holds nothing yet (its writer died before the header was whole) or is not a spool that
 * this version reads, after warning(); -1 after error(). Only after 0 there is something to close.
 */
int spool_file_open(struct spool_file *file, const char *path, const char *directory);
/* Opens the spool of a process that has ended: its entry is at OFFSET of the file PATH. */
int spool_file_open_ended(struct spool_file *file, const char *path, uint64_t offset, const char *directory);
void spool_file_close(struct spool_file *file);

/* The name of the packed file of SPOOL, whose name ends with SPOOL_SUFFIX. Returns 0, or -1: it does not, or SPACE is
 * too little. */
int packed_file_name(const char *spool, char *name, size_t space);

#endif
