#include "injected/record/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

/* A slot for each segment that is mapped; a chunk's first reserved word is the number of its slot. */
#define SEGMENTS_MAX 4096u

struct segment {
    char *base; /* NULL: the slot is free */
    uint64_t offset;
    unsigned held; /* chunks of it that somebody uses or keeps ready */
};

static struct spool_file {
    int fd;
    uint64_t size;
    struct spool_header *header;
    struct spool_header fallback; /* stands in for the header while there is no file */
    pthread_mutex_t growing;
    struct segment segments[SEGMENTS_MAX];
} file = {.fd = -1, .header = &file.fallback, .growing = PTHREAD_MUTEX_INITIALIZER};

static void read_line_of(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    size_t length = got > 0 ? (size_t)got : 0;
    while (length > 0 && (out[length - 1] == '\n' || out[length - 1] == '\0'))
        length--;
    for (size_t i = 0; i < length; i++) /* arguments are separated by NUL */
        if (out[i] == '\0')
            out[i] = ' ';
    out[length] = '\0';
}

static void fill_header(struct spool_header *header, uint64_t trace_bits)
{
    memcpy(header->magic, SPOOL_MAGIC, sizeof(header->magic));
    header->version = SPOOL_VERSION;
    header->header_bytes = SPOOL_HEADER_BYTES;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->state = SPOOL_OPEN;
    header->started = clock_now();
    header->started_monotonic = clock_monotonic();
    header->trace_bits = trace_bits;
    read_line_of("/proc/self/comm", header->program, sizeof(header->program));
    read_line_of("/proc/self/cmdline", header->command, sizeof(header->command));
    __atomic_store_n(&header->formatted, SPOOL_HEADER_BYTES, __ATOMIC_RELEASE);
}

/* A pid runs several images, and is used again: the first free name. */
static int create_file(const char *directory)
{
    for (unsigned image = 0; image < 10000; image++) {
        char path[4096];
        int length = snprintf(path, sizeof(path), "%s/%d-%u" SPOOL_SUFFIX, directory, (int)getpid(), image);
        if (length < 0 || (size_t)length >= sizeof(path)) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* BYTES of the file at its end, allocated, mapped and touched. */
static void *map_more(int fd, uint64_t offset, uint64_t bytes)
{
    int failure = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    if (failure) {
        errno = failure;
        return NULL;
    }
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (base == MAP_FAILED)
        return NULL;
    if (madvise(base, bytes, MADV_POPULATE_WRITE) != 0) /* Linux before 5.14 */
        for (uint64_t at = 0; at < bytes; at += 4096)
            *(volatile char *)(base + at) = 0;
    return base;
}

struct spool_header *spool_file_open(const char *directory, uint64_t trace_bits)
{
    int fd = create_file(directory);
    if (fd < 0)
        return NULL;
    struct spool_header *header = map_more(fd, 0, SPOOL_HEADER_BYTES);
    if (!header) {
        int failure = errno;
        close(fd);
        errno = failure;
        return NULL;
    }
    fill_header(header, trace_bits);
    file.fd = fd;
    file.size = SPOOL_HEADER_BYTES;
    file.header = header;
    return header;
}

struct spool_header *spool_file_header(void)
{
    return file.header;
}

static struct segment *free_slot(void)
{
    for (unsigned i = 0; i < SEGMENTS_MAX; i++)
        if (!__atomic_load_n(&file.segments[i].base, __ATOMIC_ACQUIRE))
            return &file.segments[i];
    errno = ENOMEM;
    return NULL;
}

static struct spool_chunk *grow_locked(void)
{
    struct segment *segment = file.fd < 0 ? NULL : free_slot();
    char *base = segment ? map_more(file.fd, file.size, SPOOL_SEGMENT_BYTES) : NULL;
    if (!base)
        return NULL;
    struct spool_chunk *chunk = (struct spool_chunk *)base;
    chunk->magic = SPOOL_CHUNK_MAGIC;
    chunk->bytes = SPOOL_SEGMENT_BYTES;
    chunk->reserved[0] = (uint32_t)(segment - file.segments);
    segment->offset = file.size;
    segment->held = 1;
    __atomic_store_n(&segment->base, base, __ATOMIC_RELEASE);
    file.size += SPOOL_SEGMENT_BYTES;
    __atomic_store_n(&file.header->formatted, file.size, __ATOMIC_RELEASE);
    return chunk;
}

struct spool_chunk *spool_file_grow(void)
{
    pthread_mutex_lock(&file.growing);
    struct spool_chunk *chunk = grow_locked();
    pthread_mutex_unlock(&file.growing);
    return chunk;
}

static struct segment *segment_of(const struct spool_chunk *chunk)
{
    return &file.segments[chunk->reserved[0] % SEGMENTS_MAX];
}

void segment_hold(struct spool_chunk *chunk)
{
    __atomic_add_fetch(&segment_of(chunk)->held, 1, __ATOMIC_RELAXED);
}

void segment_drop(struct spool_chunk *chunk)
{
    struct segment *segment = segment_of(chunk);
    if (__atomic_sub_fetch(&segment->held, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    munmap(segment->base, SPOOL_SEGMENT_BYTES);
    __atomic_store_n(&segment->base, NULL, __ATOMIC_RELEASE);
}

static void make_private(void *base, uint64_t bytes, uint64_t offset)
{
    mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file.fd, (off_t)offset);
}

void spool_file_leave(void)
{
    if (file.fd < 0)
        return;
    for (unsigned i = 0; i < SEGMENTS_MAX; i++) {
        if (file.segments[i].base)
            make_private(file.segments[i].base, SPOOL_SEGMENT_BYTES, file.segments[i].offset);
        file.segments[i] = (struct segment){0};
    }
    make_private(file.header, SPOOL_HEADER_BYTES, 0);
    close(file.fd);
    file.fd = -1;
    file.header = &file.fallback;
    pthread_mutex_init(&file.growing, NULL);
}
