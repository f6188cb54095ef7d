/*
 * For tests of the library: reading back what it wrote, by the rules of common/spool.h and nothing else.
 */
#ifndef TESTS_AGENT_SPOOL_READING_H
#define TESTS_AGENT_SPOOL_READING_H

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit.h"

#include "common/spool.h"
#include "common/spool_records.h"

struct reading {
    char *data;
    size_t size;
    uint64_t end; /* of the chunks there were at the start of reading: the file may be growing */
};

/* A new private directory below /tmp; free() the name. */
static inline char *new_directory(void)
{
    char *name = strdup("/tmp/gputrace-test-XXXXXX");
    assert_non_null(mkdtemp(name));
    return name;
}

/* Removes the directory with the files in it, and its name. */
static inline void remove_directory(char *name)
{
    DIR *files = opendir(name);
    for (struct dirent *file; files && (file = readdir(files));)
        unlinkat(dirfd(files), file->d_name, 0);
    closedir(files);
    rmdir(name);
    free(name);
}

/* Maps DIRECTORY/PID-0.spool. */
static inline struct reading read_spool(const char *directory, int pid)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", directory, pid);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    struct reading reading = {.size = (size_t)status.st_size};
    reading.data = mmap(NULL, reading.size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(reading.data, MAP_FAILED);
    close(fd);
    reading.end = ((const struct spool_header *)reading.data)->formatted;
    reading.end = reading.end < reading.size ? reading.end : reading.size;
    return reading;
}

static inline const struct spool_header *header_of(const struct reading *reading)
{
    return (const struct spool_header *)reading->data;
}

/* The chunk after BEFORE (NULL: the first), NULL at the end. Asserts that the chain is whole. */
static inline const struct spool_chunk *next_chunk(const struct reading *reading, const struct spool_chunk *before)
{
    uint64_t at = before ? (uint64_t)((const char *)before - reading->data) + before->bytes : SPOOL_HEADER_BYTES;
    uint64_t end = reading->end;
    if (at == end)
        return NULL;
    assert_true(at + sizeof(struct spool_chunk) <= end);
    const struct spool_chunk *chunk = (const struct spool_chunk *)(reading->data + at);
    assert_int_equal(chunk->magic, SPOOL_CHUNK_MAGIC);
    assert_int_equal(chunk->bytes % SPOOL_ALIGN, 0);
    assert_true(chunk->bytes >= sizeof(*chunk) && at + chunk->bytes <= end);
    assert_true(chunk->used <= chunk->bytes - sizeof(*chunk));
    return chunk;
}

/* The N-th (from 0) record of TYPE in the file, or NULL; records of one thread are found in their order. */
static inline const void *find_record(const struct reading *reading, enum spool_record_type type, unsigned n)
{
    uint64_t last = 0;
    for (;;) { /* chunks in order of sequence */
        const struct spool_chunk *best = NULL, *chunk = NULL;
        while ((chunk = next_chunk(reading, chunk)))
            if (chunk->type == SPOOL_RECORDS && chunk->sequence > last && (!best || chunk->sequence < best->sequence))
                best = chunk;
        if (!best)
            return NULL;
        last = best->sequence;
        const char *at = (const char *)(best + 1), *end = at + best->used;
        while (at < end) {
            const struct spool_record *record = (const struct spool_record *)at;
            assert_true(record->bytes >= sizeof(*record) && record->bytes % 8 == 0 && at + record->bytes <= end);
            if (record->type == type && n-- == 0)
                return record;
            at += record->bytes;
        }
    }
}

static inline unsigned count_records(const struct reading *reading, enum spool_record_type type)
{
    unsigned count = 0;
    while (find_record(reading, type, count))
        count++;
    return count;
}

#endif
