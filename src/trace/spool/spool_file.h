/*
 * One spool file: its header, checked, and its chunks in the order in which they were handed out.
 *
 * The file may be cut, damaged, or still being written, even by a program that writes at random. Nothing in it is
 * trusted: a chunk that lies outside of the file, is not aligned, or lacks the magic ends the list, and `damaged`
 * counts such places. Bytes are copied first, then checked, then used, because the file may change at any time. So the
 * agent's own records, to which indexes point, are copied when the spool is opened; CUPTI's are read on each request,
 * as they are then. Chunks that the launcher has drained and packed are among the parts, and are unpacked on request.
 * If the file becomes shorter while it is read, the missing bytes read as zeros, and spool_file_close() warns.
 */
#ifndef GPUTRACE_TRACE_SPOOL_SPOOL_FILE_H
#define GPUTRACE_TRACE_SPOOL_SPOOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/spool.h"

/* Flags for opening a source: a pipe or a device must not block us. */
#define SPOOL_SOURCE_OPEN (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* A file that contains parts. It is open only during reads. */
struct spool_source {
    char *path;
    bool shorter; /* it became shorter after the spool was opened */
};

struct spool_part {
    const uint8_t *data; /* of SPOOL_RECORDS, SPOOL_ALIGN-aligned; NULL for SPOOL_CUPTI: call spool_part_data() */
    struct spool_source *source; /* the file with its bytes */
    uint64_t offset;             /* in that file */
    size_t size; /* bytes that may hold records: `used` of the chunk if it is done, else all its space in the file */
    uint64_t sequence;
    uint64_t opened_monotonic, done_monotonic; /* the chunk's; 0: unknown */
    uint32_t thread;
    uint16_t type;     /* SPOOL_CUPTI or SPOOL_RECORDS */
    uint16_t state;    /* enum spool_chunk_state; SPOOL_DONE for drained chunks */
    bool drained;      /* it comes from the packed file */
    bool in_file;      /* `data` lies in an unnamed file, so that its pages can be evicted */
    uint32_t packed;   /* packed bytes in the source, which are unpacked on request; 0: not packed */
    uint32_t columned; /* bytes of columns between LZ4 and records */
};

struct spool_file {
    size_t size;
    struct spool_header header;     /* a copy; its texts end with a NUL */
    ARRAY(struct spool_part) parts; /* sorted by sequence; free chunks are left out */
    struct spool_source spool, packed;
    uint8_t *copied;       /* the agent's own records, if they are few */
    struct spill unpacked; /* the agent's own records, if they are many */
    uint64_t damaged;
    bool is_written; /* the process that writes it is alive; what it records from now on is not read */
};

/* Memory for the parts that one thread reads, one after another: 3.3 MiB. Starts as zeros; the caller releases it. */
struct spool_scratch {
    uint8_t *bytes;
};
void spool_scratch_release(struct spool_scratch *scratch);

/* Returns the part's `size` bytes, SPOOL_ALIGN-aligned. For SPOOL_RECORDS they are valid while the file is open; for
 * SPOOL_CUPTI they are a copy in SCRATCH, valid until its next use. Returns NULL if they are damaged, or without
 * memory. */
const uint8_t *spool_part_data(const struct spool_part *part, struct spool_scratch *scratch);

/* Lets the kernel take the part's pages back; pointers into them stay valid. */
void spool_part_evict(const struct spool_part *part);

/*
 * Opens a spool. DIRECTORY is for the copy of the agent's own records, which lies in an unnamed file there, as large as
 * the records are unpacked; NULL: the copy lies in memory. DIRECTORY and FILE must stay in place while the file is
 * open.
 *
 * Returns 0. Returns 1 if the file holds nothing yet (its writer died before the header was whole) or, after warning(),
 * if it is not a spool that this version reads. Returns -1 after error(). Only after 0 the file must be closed.
 */
int spool_file_open(struct spool_file *file, const char *path, const char *directory);
/* As spool_file_open(), for the spool of an ended process: its entry is at OFFSET of the file PATH. */
int spool_file_open_ended(struct spool_file *file, const char *path, uint64_t offset, const char *directory);
void spool_file_close(struct spool_file *file);

/* Writes the name of SPOOL's packed file to NAME. Returns 0, or -1 if SPOOL does not end with SPOOL_SUFFIX or SPACE is
 * too small. */
int packed_file_name(const char *spool, char *name, size_t space);

#endif
