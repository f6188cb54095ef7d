/*
 * The bytes of a spool's parts are read, and unpacked, on request. The agent's records are copied once, because indexes
 * point into them.
 */
#include "trace/spool/spool_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/memory.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/packing.h"

void spool_scratch_release(struct spool_scratch *scratch)
{
    free(scratch->bytes);
    *scratch = (struct spool_scratch){0};
}

/* Reads the bytes of a part. Bytes that are gone since the spool was opened read as zeros. */
static void read_part(const struct spool_part *part, uint8_t *bytes, size_t size)
{
    int fd = open(part->source->path, SPOOL_SOURCE_OPEN);
    size_t there = 0;
    ssize_t got = fd < 0 ? 0 : 1;
    for (; there < size && got > 0; there += got > 0 ? (size_t)got : 0)
        do {
            got = pread(fd, bytes + there, size - there, (off_t)(part->offset + there));
        } while (got < 0 && errno == EINTR);
    if (fd >= 0)
        close(fd);
    if (there == size)
        return;
    memset(bytes + there, 0, size - there);
    __atomic_store_n(&part->source->shorter, true, __ATOMIC_RELAXED); /* several threads may be reading */
}

const uint8_t *spool_part_data(const struct spool_part *part, struct spool_scratch *scratch)
{
    if (part->data)
        return part->data;
    if (!scratch->bytes)
        scratch->bytes = aligned_alloc(SPOOL_ALIGN, 2 * SPOOL_SEGMENT_BYTES + UNPACKING_SPACE);
    if (!scratch->bytes)
        return NULL;
    if (part->packed == 0) {
        read_part(part, scratch->bytes, part->size);
        return scratch->bytes;
    }
    uint8_t *packed = scratch->bytes + SPOOL_SEGMENT_BYTES, *between = packed + SPOOL_SEGMENT_BYTES;
    read_part(part, packed, part->packed);
    bool whole = spool_unpack(packed, part->packed, part->columned, between, scratch->bytes, part->size);
    return whole ? scratch->bytes : NULL;
}

void spool_part_evict(const struct spool_part *part)
{
    if (!part->in_file)
        return;
    size_t page = page_bytes();
    uintptr_t first = ((uintptr_t)part->data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)part->data + part->size) / page * page;
    if (first < end)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

/* --- the agent's own records --- */

/* Up to so many bytes are copied to one block of exactly that size, because a run may have many processes. */
#define FEW_BYTES ((size_t)64 << 10)
/* Up to so many bytes stay in memory before a file is created for more. */
#define UNPACKED_PLAIN ((uint64_t)4 << 20)
/* Pages are evicted after so many bytes. */
#define UNPACKED_REST ((uint64_t)16 << 20)

struct copying {
    struct spool_file *file;
    struct spool_scratch scratch;
    bool few;
    size_t used;   /* bytes of file->copied */
    uint64_t rest; /* bytes since pages were last evicted */
};

/* Returns how many bytes to copy: whole records, and the head of the first invalid one, where a walk ends. */
static size_t sound_bytes(const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(struct spool_record)) {
        const struct spool_record *record = (const void *)(data + at);
        if (record->bytes < sizeof(*record) || record->bytes % 8 != 0 || record->bytes > size - at)
            return at + sizeof(*record);
        at += record->bytes;
    }
    return size;
}

static uint8_t *new_block(struct copying *copying, size_t size)
{
    size_t whole = SPOOL_ALIGN; /* rounded up to a power of two, so that blocks stay aligned */
    while (whole < size)
        whole *= 2;
    if (!copying->few)
        return spill_block(&copying->file->unpacked, whole);
    uint8_t *block = copying->file->copied + copying->used;
    copying->used += spool_aligned(size);
    return block;
}

/* Copies a part. If it cannot be unpacked, it counts as damaged and becomes empty. */
static int copy(struct copying *copying, struct spool_part *part)
{
    struct spool_file *file = copying->file;
    const uint8_t *data = part->size > 0 ? spool_part_data(part, &copying->scratch) : NULL;
    file->damaged += part->size > 0 && !data;
    part->packed = 0;
    part->size = !data ? 0 : copying->few ? part->size : sound_bytes(data, part->size);
    uint8_t *block = part->size > 0 ? new_block(copying, part->size) : NULL;
    if (part->size > 0 && !block)
        return error_no_memory("what was recorded");
    if (block)
        memcpy(block, data, part->size);
    part->data = block;
    part->in_file = block && !copying->few && spill_last_in_file(&file->unpacked);
    copying->rest += part->size;
    if (copying->rest < UNPACKED_REST)
        return 0;
    spill_evict(&file->unpacked);
    copying->rest = 0;
    return 0;
}

/* Copies the parts of SPOOL_RECORDS, so that pointers into them are valid while FILE is open. If they are many, each is
 * copied up to the first invalid record. DIRECTORY is for the file that holds them; NULL: they stay in memory. Returns
 * 0, or -1 after error(). */
static int agent_parts_copy(struct spool_file *file, const char *directory)
{
    size_t bytes = 0;
    for (size_t i = 0; i < file->parts.count; i++)
        bytes += file->parts.items[i].type == SPOOL_RECORDS ? spool_aligned(file->parts.items[i].size) : 0;
    struct copying copying = {.file = file, .few = bytes <= FEW_BYTES};
    int result = 0;
    spill_init(&file->unpacked, directory);
    file->unpacked.most_plain = UNPACKED_PLAIN;
    if (copying.few && bytes > 0 && !(file->copied = aligned_alloc(SPOOL_ALIGN, bytes)))
        return error_no_memory("what was recorded");
    for (size_t i = 0; i < file->parts.count && result == 0; i++)
        if (file->parts.items[i].type == SPOOL_RECORDS)
            result = copy(&copying, &file->parts.items[i]);
    spool_scratch_release(&copying.scratch);
    return result;
}

/* Sets *SIZE. Returns 0, 1 after warning() if the file is to be left out, or -1 after error(). */
static int check_file(int fd, const char *path, size_t *size)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return error("cannot examine '%s': %m", path);
    if (!S_ISREG(status.st_mode)) {
        warning("'%s' is not a regular file and is left out", path);
        return 1;
    }
    *size = (size_t)status.st_size;
    return 0;
}

/* Returns 0, 1 if the file became too short meanwhile, or -1 after error(). */
static int read_at(int fd, void *bytes, size_t size, size_t offset, const char *path)
{
    ssize_t got = pread(fd, bytes, size, (off_t)offset);
    if (got < 0)
        return error("cannot read '%s': %m", path);
    return (size_t)got != size;
}

/* Returns 0, or 1 after a message if the spool is to be left out. */
static int check_header(struct spool_header *header, const char *path)
{
    header->program[sizeof(header->program) - 1] = '\0';
    header->command[sizeof(header->command) - 1] = '\0';
    static const char nothing[sizeof(header->magic)];
    if (memcmp(header->magic, nothing, sizeof(nothing)) == 0) {
        verbose("'%s' has no header yet and is left out", path);
        return 1;
    }
    if (memcmp(header->magic, SPOOL_MAGIC, sizeof(header->magic)) != 0) {
        warning("'%s' is not a spool file and is left out", path);
        return 1;
    }
    if (header->version != SPOOL_VERSION) {
        warning("'%s' is a spool of version %u, by %s gputrace than this, which reads version %u: it is left out", path,
                header->version, header->version > SPOOL_VERSION ? "a newer" : "an older", SPOOL_VERSION);
        return 1;
    }
    return 0;
}

static int read_header(struct spool_file *file, int fd, const char *path)
{
    if (file->size < sizeof(file->header)) {
        verbose("'%s' ends within its header and is left out", path);
        return 1;
    }
    int result = read_at(fd, &file->header, sizeof(file->header), 0, path);
    return result == 0 ? check_header(&file->header, path) : result;
}

static int add_chunk(struct spool_file *file, size_t offset, const struct spool_chunk *chunk, size_t end)
{
    if (chunk->type == SPOOL_FREE || chunk->state == SPOOL_READY)
        return 0;
    if (chunk->type != SPOOL_CUPTI && chunk->type != SPOOL_RECORDS) {
        file->damaged++;
        return 0;
    }
    struct spool_part *part = array_push(&file->parts);
    if (!part)
        return error_no_memory("the list of chunks");
    part->source = &file->spool;
    part->offset = offset + sizeof(*chunk);
    /* The data bytes that may hold records: at most a segment. */
    bool open_ended = chunk->type == SPOOL_CUPTI && chunk->state != SPOOL_DONE && chunk->state != SPOOL_DRAINED;
    size_t space = end - part->offset, most = space < SPOOL_SEGMENT_BYTES ? space : SPOOL_SEGMENT_BYTES;
    if (!open_ended && chunk->used <= most) {
        part->size = (size_t)chunk->used;
    } else {
        part->size = most;
        file->damaged += !open_ended || space > most;
    }
    part->sequence = chunk->sequence;
    part->thread = chunk->thread;
    part->opened_monotonic = chunk->opened_monotonic;
    part->done_monotonic = chunk->done_monotonic;
    part->type = chunk->type;
    part->state = chunk->state;
    return 0;
}

/* Lists the chunks between two offsets. Returns 0, 1 if the chain is broken, or -1 after error(). */
static int follow_chunks(struct spool_file *file, int fd, size_t offset, size_t end, const char *path)
{
    while (offset < end && end - offset >= sizeof(struct spool_chunk)) {
        struct spool_chunk chunk;
        int result = read_at(fd, &chunk, sizeof(chunk), offset, path);
        if (result < 0)
            return -1;
        if (result > 0 || chunk.magic != SPOOL_CHUNK_MAGIC || chunk.bytes < sizeof(chunk) ||
            chunk.bytes % SPOOL_ALIGN != 0)
            return 1;
        bool cut = chunk.bytes > end - offset;
        size_t next = cut ? end : offset + (size_t)chunk.bytes;
        if (add_chunk(file, offset, &chunk, next) != 0)
            return -1;
        offset = next;
    }
    return 0;
}

/* A live writer may join several drained chunks to one while we follow the chain and so break it: the next attempt
 * finds a whole chain. */
#define LOOKS 4

static int list_chunks(struct spool_file *file, int fd, const char *path)
{
    size_t end = file->size, offset = file->header.header_bytes;
    if (file->header.formatted < end)
        end = (size_t)file->header.formatted;
    else if (file->header.formatted > end)
        file->damaged++; /* the file was cut */
    if (offset % SPOOL_ALIGN != 0 || offset < sizeof(struct spool_header)) {
        file->damaged++;
        return 0;
    }
    uint64_t damaged = file->damaged;
    int result = 1;
    for (int look = 0; result > 0 && look < LOOKS; look++) {
        file->parts.count = 0;
        file->damaged = damaged;
        result = follow_chunks(file, fd, offset, end, path);
    }
    file->damaged += result > 0;
    return result < 0 ? -1 : 0;
}

/* --- what the launcher has drained: the chunks in the file with SPOOL_PACKED_SUFFIX --- */

int packed_file_name(const char *spool, char *name, size_t space)
{
    size_t stem = strlen(spool), suffix = strlen(SPOOL_SUFFIX);
    if (stem <= suffix || strcmp(spool + stem - suffix, SPOOL_SUFFIX) != 0)
        return -1;
    int length = snprintf(name, space, "%.*s" SPOOL_PACKED_SUFFIX, (int)(stem - suffix), spool);
    return length < 0 || (size_t)length >= space ? -1 : 0;
}

/* Adds the packed parts of a file. An entry that is cut off or invalid ends the list. */
static int add_packed_parts(struct spool_file *file, int fd, const char *path, uint64_t from, uint64_t end)
{
    struct spool_packed packed;
    for (uint64_t at = from; end - at >= sizeof(packed);) {
        ssize_t got = pread(fd, &packed, sizeof(packed), (off_t)at);
        if (got < 0)
            return error("cannot read '%s': %m", path);
        if (got != (ssize_t)sizeof(packed) || !spool_packed_sound(&packed))
            return 0;
        uint64_t data = at + sizeof(packed);
        if (packed.packed > end - data)
            return 0;
        struct spool_part *part = array_push(&file->parts);
        if (!part)
            return error_no_memory("the list of chunks");
        *part = (struct spool_part){
            .source = &file->packed,
            .offset = data,
            .size = (size_t)packed.used,
            .sequence = packed.sequence,
            .opened_monotonic = packed.opened_monotonic,
            .done_monotonic = packed.done_monotonic,
            .thread = packed.thread,
            .type = packed.type,
            .state = SPOOL_DONE,
            .drained = true,
            .packed = packed.packing == SPOOL_PACKED_COLUMNS ? packed.packed : 0,
            .columned = packed.columned,
        };
        uint64_t whole = spool_aligned(packed.packed);
        if (whole > end - data)
            return 0;
        at = data + whole;
    }
    return 0;
}

/* Adds the parts of SPOOL's packed file, if there is one. Returns 0, or -1 after error(). */
static int add_packed_file(struct spool_file *file, const char *spool)
{
    char path[PATH_MAX];
    size_t size = 0;
    if (packed_file_name(spool, path, sizeof(path)) != 0)
        return 0;
    int fd = open(path, SPOOL_SOURCE_OPEN);
    if (fd < 0)
        return errno == ENOENT ? 0 : error("cannot open '%s': %m", path);
    int result = check_file(fd, path, &size);
    if (result == 0 && size > 0 && !(file->packed.path = strdup(path)))
        result = error_no_memory("a spool");
    if (result == 0 && size > 0)
        result = add_packed_parts(file, fd, path, 0, size);
    close(fd);
    return result < 0 ? -1 : 0;
}

/* --- the whole spool --- */

/* Chunks of a damaged file with equal numbers stay in the file's order. */
static int by_sequence(const void *a, const void *b)
{
    const struct spool_part *left = a, *right = b;
    return ORDER(left->sequence, right->sequence)
               ?: ORDER(right->drained, left->drained) ?: ORDER(left->offset, right->offset);
}

/* Drops the other copies of chunks that are packed. Counts drained chunks that are in neither file as damage. */
static void keep_once(struct spool_file *file)
{
    uint64_t drained = 0;
    size_t kept = 0;
    struct spool_part *parts = file->parts.items;
    for (size_t i = 0; i < file->parts.count; i++) {
        const struct spool_part *last = kept > 0 ? &parts[kept - 1] : NULL;
        bool twice = last && last->drained && last->sequence == parts[i].sequence && parts[i].type == last->type;
        if (twice)
            continue;
        drained += parts[i].drained || parts[i].state == SPOOL_DRAINED;
        parts[kept] = parts[i];
        parts[kept++].state = parts[i].state == SPOOL_DRAINED ? SPOOL_DONE : parts[i].state;
    }
    file->parts.count = kept;
    if (file->header.drained <= drained)
        return;
    uint64_t missing = file->header.drained - drained;
    file->damaged += missing < UINT32_MAX ? missing : 1;
    char name[PATH_MAX];
    if (file->spool.path && packed_file_name(file->spool.path, name, sizeof(name)) == 0)
        warning("'%s' was removed or cut: the trace lacks the records that were there", name);
}

/* Sorts and copies the parts if RESULT, of the steps before, is 0; else closes FILE. Returns the result. */
static int finish_opening(struct spool_file *file, int result, const char *directory)
{
    array_fit(&file->parts);
    if (file->parts.count > 1)
        qsort(file->parts.items, file->parts.count, sizeof(*file->parts.items), by_sequence);
    if (result == 0) {
        keep_once(file);
        result = agent_parts_copy(file, directory);
    }
    if (result != 0)
        spool_file_close(file);
    return result;
}

int spool_file_open(struct spool_file *file, const char *path, const char *directory)
{
    *file = (struct spool_file){0};
    int fd = open(path, SPOOL_SOURCE_OPEN);
    if (fd < 0)
        return error("cannot open '%s': %m", path);
    file->is_written = spool_is_written(fd);
    int result = check_file(fd, path, &file->size);
    if (result == 0 && !(file->spool.path = strdup(path)))
        result = error_no_memory("a spool");
    result = result ?: read_header(file, fd, path) ?: list_chunks(file, fd, path) ?: add_packed_file(file, path);
    close(fd);
    return finish_opening(file, result, directory);
}

static int read_ended(struct spool_file *file, int fd, const char *path, uint64_t offset)
{
    struct stat status;
    struct ended_entry entry;
    if (fstat(fd, &status) != 0)
        return error("cannot examine '%s': %m", path);
    if (ended_entry_read(&entry, fd, offset, (uint64_t)status.st_size) != 0 ||
        ended_header_read(&file->header, &entry, fd, offset) != 0) {
        warning("'%s' is damaged: a process that ended is left out", path);
        return 1;
    }
    int result = check_header(&file->header, path);
    return result == 0 ? add_packed_parts(file, fd, path, entry.chunks, entry.end) : result;
}

int spool_file_open_ended(struct spool_file *file, const char *path, uint64_t offset, const char *directory)
{
    *file = (struct spool_file){0};
    int fd = open(path, SPOOL_SOURCE_OPEN);
    if (fd < 0)
        return error("cannot open '%s': %m", path);
    file->packed.path = strdup(path);
    int result = file->packed.path ? read_ended(file, fd, path, offset) : error_no_memory("a spool");
    close(fd);
    return finish_opening(file, result, directory);
}

void spool_file_close(struct spool_file *file)
{
    if (file->spool.shorter || file->packed.shorter)
        warning("the spool of process %u became shorter while it was read: the trace lacks what was there",
                file->header.pid);
    free(file->copied);
    spill_release(&file->unpacked);
    free(file->spool.path);
    free(file->packed.path);
    array_release(&file->parts);
    *file = (struct spool_file){0};
}
