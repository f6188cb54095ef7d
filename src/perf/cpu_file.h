/*
 * What perf events say of one process, in the run directory: a file in the format of spools (common/spool.h), so that
 * everything that reads spools reads it too. It holds the agent's records CPU_SAMPLE, THREAD_STATE, STACK, MAPPING and
 * THREAD_NAME, in chunks that are done. It is appended to now and then, and open only meanwhile: a run may have many
 * processes. If we are killed, what was not appended yet is lost.
 */
#ifndef GPUTRACE_PERF_CPU_FILE_H
#define GPUTRACE_PERF_CPU_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"
#include "common/spool.h"

struct cpu_file {
    struct spool_header header;
    struct buffer records; /* not in the file yet */
    uint64_t sequence;
    uint64_t wanting; /* CLOCK_MONOTONIC when the first of RECORDS came; 0: there are none */
    int directory;    /* of the run */
    char name[48];    /* of the file; "": it does not exist yet */
    bool failed;      /* it cannot be written: what comes is dropped and counted */
    uint64_t dropped;
};

/* DIRECTORY stays open as long as FILE. What the header says of the process is the caller's to fill in. */
void cpu_file_init(struct cpu_file *file, int directory);

/* Appends a record of SIZE bytes, of whose end LENGTH bytes at TEXT (NULL: none) take the place of its last SPACE
 * bytes. */
void cpu_file_add(struct cpu_file *file, struct spool_record *record, size_t size, const void *text, uint32_t length,
                  size_t space);

/* Puts what there is into the file, with the header as it is now. */
void cpu_file_flush(struct cpu_file *file);

/* The last flush; releases what FILE holds. LOST: records that the kernel had no space for. */
void cpu_file_close(struct cpu_file *file, uint64_t lost);

#endif
