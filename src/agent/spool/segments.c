/*
 * The mapped segments of the spool, each with a count of holders. A segment is reused when the launcher has drained it,
 * unmapped when its last chunk is done and enough others are mapped, and written to the file at the end if its pages
 * were lost.
 */
#include "agent/spool/segments.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/memory.h"

/* A slot for each mapped segment. Each chunk has the number of its segment's slot. */
#define SEGMENTS_MAX 4096u

#define UNMAPPED UINT32_MAX

static struct segments {
    struct segment {
        char *base;       /* NULL: the slot is free */
        uint64_t offset;  /* in the file */
        uint32_t holders; /* chunks of the segment that are in use or ready; UNMAPPED while unmapping and afterwards */
        uint16_t purpose; /* enum spool_chunk_type */
        bool orphaned;    /* the memory no longer belongs to the file */
        unsigned kept;    /* number of the segment's chunks in the pool */
    } slots[SEGMENTS_MAX];
    void (*save)(const char *base, uint64_t offset); /* set when the first segment is orphaned */
    unsigned used;                                   /* number of slots that were ever used */
    unsigned mapped;                                 /* number of mapped segments */
    bool removed;                                    /* the file was removed: unmapped segments free disk space */
} segments;

static struct segment *segment_of(const struct spool_chunk *chunk)
{
    return &segments.slots[chunk->segment % SEGMENTS_MAX];
}

static struct segment *free_slot(void)
{
    for (unsigned i = 0; i < SEGMENTS_MAX; i++)
        if (!__atomic_load_n(&segments.slots[i].base, __ATOMIC_ACQUIRE))
            return &segments.slots[i];
    return NULL;
}

bool segments_have_space(void)
{
    return free_slot() != NULL;
}

struct spool_chunk *segments_add(char *base, uint64_t offset)
{
    struct segment *segment = free_slot();
    unsigned number = (unsigned)(segment - segments.slots);
    struct spool_chunk *chunk = (struct spool_chunk *)(void *)base;
    segment->offset = offset;
    segment->kept = 0;
    __atomic_store_n(&segment->purpose, SPOOL_FREE, __ATOMIC_RELAXED);
    /* The SIGBUS handler must find the segment before anything is written into it. UNMAPPED keeps other threads off it
     * until the end of this function. */
    __atomic_store_n(&segment->holders, UNMAPPED, __ATOMIC_RELAXED);
    __atomic_store_n(&segment->base, base, __ATOMIC_RELEASE);
    if (number >= __atomic_load_n(&segments.used, __ATOMIC_RELAXED))
        __atomic_store_n(&segments.used, number + 1, __ATOMIC_RELEASE);
    chunk->magic = SPOOL_CHUNK_MAGIC;
    chunk->bytes = SPOOL_SEGMENT_BYTES;
    chunk->segment = number;
    __atomic_add_fetch(&segments.mapped, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&segment->holders, 1, __ATOMIC_RELEASE);
    return chunk;
}

enum spool_chunk_type segment_purpose(const struct spool_chunk *chunk)
{
    return (enum spool_chunk_type)__atomic_load_n(&segment_of(chunk)->purpose, __ATOMIC_RELAXED);
}

void segment_set_purpose(const struct spool_chunk *chunk, enum spool_chunk_type type)
{
    __atomic_store_n(&segment_of(chunk)->purpose, (uint16_t)type, __ATOMIC_RELAXED);
}

/* Writes the new header before the old one is shortened, so that readers find a complete chain. */
struct spool_chunk *segment_cut(struct spool_chunk *chunk, uint64_t bytes)
{
    struct spool_chunk *rest = (struct spool_chunk *)(void *)((char *)chunk + bytes);
    *rest = (struct spool_chunk){.magic = SPOOL_CHUNK_MAGIC, .bytes = chunk->bytes - bytes, .segment = chunk->segment};
    __atomic_add_fetch(&segment_of(rest)->holders, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&chunk->bytes, bytes, __ATOMIC_RELEASE);
    return rest;
}

unsigned *segment_kept(const struct spool_chunk *chunk)
{
    return &segment_of(chunk)->kept;
}

/* Saves an orphaned segment, once. */
static void save_orphaned(struct segment *segment)
{
    if (__atomic_exchange_n(&segment->orphaned, false, __ATOMIC_ACQ_REL))
        __atomic_load_n(&segments.save, __ATOMIC_RELAXED)(segment->base, segment->offset);
}

/* Unmaps a segment whose last holder has dropped it. */
static void unmap(struct segment *segment)
{
    char *base = segment->base;
    save_orphaned(segment);
    for (uint64_t at = 0, bytes = SPOOL_ALIGN; at < SPOOL_SEGMENT_BYTES && bytes >= SPOOL_ALIGN; at += bytes) {
        struct spool_chunk *chunk = (struct spool_chunk *)(void *)(base + at);
        bytes = chunk->bytes;
        __atomic_store_n(&chunk->segment, SPOOL_NO_SEGMENT, __ATOMIC_RELEASE);
    }
    if (__atomic_load_n(&segments.removed, __ATOMIC_RELAXED))
        madvise(base, SPOOL_SEGMENT_BYTES, MADV_REMOVE); /* fails for an orphaned segment, which is not the file's */
    munmap(base, SPOOL_SEGMENT_BYTES);
    __atomic_sub_fetch(&segments.mapped, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&segment->base, NULL, __ATOMIC_RELEASE);
}

static void drop(struct segment *segment)
{
    bool keep = __atomic_load_n(&segments.mapped, __ATOMIC_RELAXED) <= SEGMENTS_MAPPED_KEPT &&
                !__atomic_load_n(&segments.removed, __ATOMIC_RELAXED);
    uint32_t none = 0;
    if (__atomic_sub_fetch(&segment->holders, 1, __ATOMIC_ACQ_REL) > 0 || keep)
        return;
    /* If another thread reclaims the segment at this moment, it stays mapped. */
    if (__atomic_compare_exchange_n(&segment->holders, &none, UNMAPPED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        unmap(segment);
}

void segment_drop(const struct spool_chunk *chunk)
{
    drop(segment_of(chunk));
}

/* --- reuse of drained segments --- */

/* Adds a holder to a segment, which another thread may be unmapping. Returns false if it is unmapped. */
static bool try_hold(struct segment *segment)
{
    if (!__atomic_load_n(&segment->base, __ATOMIC_ACQUIRE))
        return false;
    uint32_t holders = __atomic_load_n(&segment->holders, __ATOMIC_RELAXED);
    while (holders != UNMAPPED)
        if (__atomic_compare_exchange_n(&segment->holders, &holders, holders + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED))
            return true;
    return false;
}

/* Whether the launcher has drained everything in the segment at BASE, which the caller holds. Chunks may be cut and
 * joined meanwhile, so claim() checks again. */
static bool is_drained(const char *base)
{
    bool any = false;
    for (uint64_t at = 0; at < SPOOL_SEGMENT_BYTES;) {
        const struct spool_chunk *chunk = (const struct spool_chunk *)(const void *)(base + at);
        uint64_t bytes = __atomic_load_n(&chunk->bytes, __ATOMIC_ACQUIRE);
        uint16_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
        if (bytes < sizeof(*chunk) || bytes > SPOOL_SEGMENT_BYTES - at ||
            (state != SPOOL_READY && state != SPOOL_DRAINED))
            return false;
        any = any || state == SPOOL_DRAINED;
        at += bytes;
    }
    return any;
}

static bool claim(struct segment *segment, const struct segment_keeper *keeper)
{
    keeper->lock();
    uint32_t kept = segment->kept, mine = kept + 1;
    bool claimed = __atomic_load_n(&segment->holders, __ATOMIC_ACQUIRE) == mine && is_drained(segment->base) &&
                   __atomic_compare_exchange_n(&segment->holders, &mine, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    if (claimed && kept > 0)
        keeper->forget(segment->base);
    keeper->unlock();
    return claimed;
}

/* Turns the segment into one blank chunk. Readers find a complete chain at any moment: first the chunk becomes long,
 * then the headers within it are cleared. */
static struct spool_chunk *make_one(struct segment *segment)
{
    struct spool_chunk *chunk = (struct spool_chunk *)(void *)segment->base;
    __atomic_store_n(&chunk->state, SPOOL_READY, __ATOMIC_RELEASE);
    __atomic_exchange_n(&chunk->bytes, SPOOL_SEGMENT_BYTES, __ATOMIC_SEQ_CST); /* no store below comes before it */
    memset(chunk + 1, 0, SPOOL_SEGMENT_BYTES - sizeof(*chunk));
    chunk->type = SPOOL_FREE;
    chunk->used = 0;
    __atomic_store_n(&segment->purpose, SPOOL_FREE, __ATOMIC_RELAXED);
    return chunk;
}

struct spool_chunk *segments_reclaim(const struct segment_keeper *keeper)
{
    unsigned used = __atomic_load_n(&segments.used, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < used; i++) {
        struct segment *segment = &segments.slots[i];
        if (__atomic_load_n(&segment->purpose, __ATOMIC_RELAXED) == SPOOL_FREE || !try_hold(segment))
            continue;
        if (is_drained(segment->base) && claim(segment, keeper))
            return make_one(segment);
        drop(segment);
    }
    return NULL;
}

void segments_release(void)
{
    __atomic_store_n(&segments.removed, true, __ATOMIC_RELAXED);
    unsigned used = __atomic_load_n(&segments.used, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < used; i++)
        if (try_hold(&segments.slots[i]))
            drop(&segments.slots[i]); /* unmaps the segment unless it has another holder */
}

bool segments_any_at(uint64_t offset)
{
    bool any = false;
    for (unsigned i = 0; i < SEGMENTS_MAX && !any; i++)
        any = __atomic_load_n(&segments.slots[i].base, __ATOMIC_ACQUIRE) && segments.slots[i].offset == offset;
    return any;
}

char *segments_find(const void *address)
{
    unsigned used = __atomic_load_n(&segments.used, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < used; i++) {
        char *base = __atomic_load_n(&segments.slots[i].base, __ATOMIC_ACQUIRE);
        if (base && (uintptr_t)address - (uintptr_t)base < SPOOL_SEGMENT_BYTES)
            return base;
    }
    return NULL;
}

void segment_set_orphaned(const char *base, void (*save)(const char *base, uint64_t offset))
{
    unsigned used = __atomic_load_n(&segments.used, __ATOMIC_ACQUIRE);
    __atomic_store_n(&segments.save, save, __ATOMIC_RELAXED); /* several threads may be here at once */
    for (unsigned i = 0; i < used; i++)
        if (__atomic_load_n(&segments.slots[i].base, __ATOMIC_ACQUIRE) == base)
            __atomic_store_n(&segments.slots[i].orphaned, true, __ATOMIC_RELEASE);
}

void segments_save(void)
{
    unsigned used = __atomic_load_n(&segments.used, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < used; i++) {
        struct segment *segment = &segments.slots[i];
        if (!__atomic_load_n(&segment->orphaned, __ATOMIC_RELAXED) || !try_hold(segment))
            continue;
        save_orphaned(segment);
        drop(segment);
    }
}

void segments_atfork_child(void (*make_private)(void *base, uint64_t bytes, uint64_t offset))
{
    for (unsigned i = 0; i < SEGMENTS_MAX; i++) {
        struct segment *segment = &segments.slots[i];
        if (segment->base && segment->holders == 0)
            munmap(segment->base, SPOOL_SEGMENT_BYTES);
        else if (segment->base && segment->holders != UNMAPPED)
            make_private(segment->base, SPOOL_SEGMENT_BYTES, segment->offset);
        *segment = (struct segment){0};
    }
    segments.used = segments.mapped = 0;
    segments.removed = false;
}

/* --- orphaned segments --- */

int orphaned_segment_write(int fd, const char *base, uint64_t offset)
{
    size_t page = page_bytes();
    for (uint64_t at = SPOOL_SEGMENT_BYTES; at > 0; at -= page)
        if (pwrite(fd, base + at - page, page, (off_t)(offset + at - page)) != (ssize_t)page)
            return -1;
    return 0;
}

/* Returns the size of the record at DATA, of which SPACE bytes are left, or 0 if there is no record. */
static uint64_t record_size(const struct spool_chunk *chunk, const char *data, uint64_t space,
                            const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    uint64_t size = 0;
    if (chunk->type == SPOOL_RECORDS && space >= sizeof(struct spool_record)) {
        size = ((const struct spool_record *)(const void *)data)->bytes;
    } else if (chunk->type == SPOOL_CUPTI && space >= sizeof(uint32_t)) {
        uint32_t kind = *(const uint32_t *)(const void *)data & ~SPOOL_IN_FLIGHT;
        size = kind < SPOOL_CUPTI_KINDS ? record_bytes[kind] : 0;
    }
    return size <= space ? size : 0;
}

/* Returns the end of the chunk's data from its header, or, for a CUPTI chunk in use, the chunk's end: only its records
 * show where data ends. */
static uint64_t end_of(const struct spool_chunk *chunk)
{
    bool open = chunk->type == SPOOL_CUPTI && chunk->state == SPOOL_IN_USE;
    uint64_t end = open ? chunk->bytes : sizeof(*chunk) + chunk->used;
    return end < chunk->bytes ? end : chunk->bytes;
}

/* Returns how many records of CHUNK the file does not have. THERE is what the file has in the place of CHUNK, beginning
 * with a header. */
static uint64_t missing_of(const struct spool_chunk *chunk, const char *there,
                           const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    const struct spool_chunk *header = (const struct spool_chunk *)(const void *)there;
    const char *here = (const char *)chunk;
    uint64_t missing = 0, end = end_of(chunk), end_there = header->sequence == chunk->sequence ? end_of(header) : 0;
    for (uint64_t at = sizeof(*chunk), size; at < end; at += size) {
        size = record_size(chunk, here + at, end - at, record_bytes);
        if (size == 0)
            break;
        missing += at + size > end_there || memcmp(here + at, there + at, size) != 0;
    }
    return missing;
}

int64_t orphaned_segment_missing(int fd, const char *base, uint64_t offset,
                                 const uint16_t record_bytes[SPOOL_CUPTI_KINDS])
{
    int64_t missing = 0;
    /* Without malloc(): the program may have interrupted malloc() with a signal handler that led here. */
    char *there = mmap(NULL, SPOOL_SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED)
        return -1;
    ssize_t got = fd >= 0 ? pread(fd, there, SPOOL_SEGMENT_BYTES, (off_t)offset) : 0;
    (void)got; /* parts that were not read are zeros */
    for (uint64_t at = 0; at < SPOOL_SEGMENT_BYTES;) {
        const struct spool_chunk *chunk = (const struct spool_chunk *)(const void *)(base + at);
        if (chunk->bytes < sizeof(*chunk) || chunk->bytes > SPOOL_SEGMENT_BYTES - at)
            break;
        missing += (int64_t)missing_of(chunk, there + at, record_bytes);
        at += chunk->bytes;
    }
    munmap(there, SPOOL_SEGMENT_BYTES);
    return missing;
}
