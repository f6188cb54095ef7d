/*
 * Packs one spool: each round reads the headers of its chunks, appends complete chunks to the packed file, marks them
 * as drained, and punches holes where they were. When the process has ended, its chunks that are not complete are
 * packed too.
 */
#include "launch/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/spool.h"
#include "trace/spool/cupti.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/spool_file.h"

/* A round over one spool. It opens and closes the files, because a run may have more processes than this process may
 * have descriptors. */
struct round {
    struct spool_drain *drain;
    struct drain_tools *tools;
    struct spool_header header;
    int spool;
    int packed; /* the packed file, or -1 until it is opened */
    int count;  /* chunks that were packed */
};

/* The most bytes of a chunk in use that are read for `--live` in a round. */
#define LOOK_BYTES ((size_t)256 << 10)

int spool_drain_init(struct spool_drain *drain, const char *name)
{
    *drain = (struct spool_drain){0};
    if (strlen(name) >= sizeof(drain->name))
        return -1;
    strcpy(drain->name, name);
    return packed_file_name(name, drain->packed_name, sizeof(drain->packed_name));
}

void spool_drain_release(struct spool_drain *drain)
{
    array_release(&drain->open);
    map_release(&drain->seen);
}

static int round_read(int fd, void *bytes, size_t size, uint64_t offset)
{
    return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size ? 0 : -1;
}

static int round_write(int fd, const void *bytes, size_t size, uint64_t offset)
{
    return pwrite(fd, bytes, size, (off_t)offset) == (ssize_t)size ? 0 : -1;
}

static bool round_is_usable(const struct spool_header *header)
{
    return memcmp(header->magic, SPOOL_MAGIC, sizeof(header->magic)) == 0 && header->version == SPOOL_VERSION &&
           header->header_bytes == SPOOL_HEADER_BYTES;
}

static uint64_t offset_of(const struct segment_drain *segment)
{
    return SPOOL_HEADER_BYTES + (uint64_t)segment->number * SPOOL_SEGMENT_BYTES;
}

/* --- one chunk --- */

/* Opens the packed file. If somebody has truncated it, the next entry goes to its present end. */
static int round_open_packed(struct round *round)
{
    struct stat status;
    if (round->packed >= 0)
        return 0;
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    round->packed = openat(round->tools->directory, round->drain->packed_name, flags, 0600);
    if (round->packed < 0 || fstat(round->packed, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    uint64_t size = (uint64_t)status.st_size / SPOOL_ALIGN * SPOOL_ALIGN;
    if (size < round->drain->packed_size)
        round->drain->packed_size = size;
    return 0;
}

/* Appends ENTRY to the packed file. Returns 0, or -1 if it could not be written as a whole. */
static int append(struct round *round, const uint8_t *entry, size_t size)
{
    struct spool_drain *drain = round->drain;
    if (round_open_packed(round) != 0 || !disk_has_space(round->packed, size))
        return -1;
    if (round_write(round->packed, entry, size, drain->packed_size) != 0) {
        int cut = ftruncate(round->packed, (off_t)drain->packed_size);
        (void)cut; /* without the cut, the incomplete entry is overwritten by the next one */
        return -1;
    }
    drain->packed_size += size;
    return 0;
}

/* Adds the records of a chunk that are new since the last call, whose sizes are multiples of 8 bytes, to the figures of
 * `--live`. A complete chunk is in tools->data already. In a chunk in use, `used` is valid for agent records only. */
static void count_records(struct round *round, const struct spool_chunk *chunk, uint64_t offset)
{
    struct drain_tools *tools = round->tools;
    bool done = chunk->state == SPOOL_DONE;
    uint64_t *seen = tools->live ? map_put(&round->drain->seen, offset, NULL) : NULL;
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    uint64_t space = chunk->bytes - sizeof(*chunk);
    uint64_t bytes = (done || chunk->type == SPOOL_RECORDS ? chunk->used : space) & ~UINT64_C(7);
    if (!seen || bytes > space || bytes <= *seen)
        return;
    struct spool_part part = {.data = done ? tools->data + *seen : tools->data,
                              .size = (size_t)(bytes - *seen),
                              .thread = chunk->thread,
                              .type = chunk->type,
                              .state = chunk->state};
    if (!done && part.type == SPOOL_CUPTI && part.size > LOOK_BYTES)
        part.size = LOOK_BYTES;
    if (!done && round_read(round->spool, tools->data, part.size, offset + sizeof(*chunk) + *seen) != 0)
        return;
    if (part.type == SPOOL_RECORDS) {
        live_add_agent(tools->live, &round->drain->process, &part);
        *seen += part.size;
        return;
    }
    cupti_record_sizes(sizes, &round->header);
    *seen += live_add_cupti(tools->live, &part, sizes);
}

static int pack(struct round *round, const struct spool_chunk *chunk, uint64_t offset)
{
    struct drain_tools *tools = round->tools;
    size_t size;
    if (round_read(round->spool, tools->data, (size_t)chunk->used, offset + sizeof(*chunk)) != 0)
        return -1;
    const uint8_t *entry = packer_pack(&tools->packer, chunk, tools->data, round->header.record_bytes, &size);
    if (append(round, entry, size) != 0) {
        round->drain->no_space = true;
        return -1;
    }
    uint64_t drained = ++round->drain->drained;
    if (round_write(round->spool, &drained, sizeof(drained), offsetof(struct spool_header, drained)) != 0)
        return -1;
    round->drain->bytes += chunk->used;
    round->count++;
    count_records(round, chunk, offset);
    map_remove(&round->drain->seen, offset);
    return 0;
}

/* Packs a complete chunk, which no process uses, and marks it as drained. */
static int round_drain_chunk(struct round *round, struct spool_chunk *chunk, uint64_t offset)
{
    static const uint16_t drained = SPOOL_DRAINED;
    if (chunk->used > chunk->bytes - sizeof(*chunk))
        return -1;
    if (chunk->used > 0 && pack(round, chunk, offset) != 0)
        return -1;
    chunk->state = drained;
    return round_write(round->spool, &drained, sizeof(drained), offset + offsetof(struct spool_chunk, state));
}

/* --- one segment --- */

/* Reads the header at OFFSET twice: the writer stores the state last, so the second copy has all fields
 * that belong to the state of the first. */
static int round_read_chunk(struct round *round, struct spool_chunk *chunk, uint64_t offset, uint64_t space)
{
    for (int i = 0; i < 2; i++)
        if (round_read(round->spool, chunk, sizeof(*chunk), offset) != 0)
            return -1;
    bool sound = chunk->magic == SPOOL_CHUNK_MAGIC && chunk->bytes >= sizeof(*chunk) && chunk->bytes <= space &&
                 chunk->bytes % SPOOL_ALIGN == 0;
    return sound ? 0 : -1;
}

/* Frees the disk space of chunks that were drained or never used; their headers stay. */
static void punch(struct round *round, const struct segment_drain *segment)
{
    struct spool_chunk chunk;
    for (uint64_t at = 0; at < SPOOL_SEGMENT_BYTES; at += chunk.bytes) {
        uint64_t offset = offset_of(segment) + at;
        if (round_read_chunk(round, &chunk, offset, SPOOL_SEGMENT_BYTES - at) != 0)
            return;
        bool empty = chunk.state == SPOOL_DRAINED || chunk.state == SPOOL_READY;
        uint64_t from = offset + sizeof(chunk), bytes = chunk.bytes - sizeof(chunk);
        if (empty && bytes > 0)
            fallocate(round->spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)bytes);
    }
}

static bool round_is_to_stop(const struct round *round)
{
    return __atomic_load_n(round->tools->stop, __ATOMIC_RELAXED);
}

/* Drains the complete chunks of SEGMENT. Returns true if all are drained and the process has left it. */
static bool drain_segment(struct round *round, struct segment_drain *segment)
{
    struct spool_chunk chunk;
    if (round_read_chunk(round, &chunk, offset_of(segment), SPOOL_SEGMENT_BYTES) != 0)
        return false;
    bool left = chunk.segment == SPOOL_NO_SEGMENT, in_order = true;
    if (chunk.sequence != segment->sequence) {
        segment->sequence = chunk.sequence;
        segment->at = 0;
    }
    for (uint64_t at = segment->at; at < SPOOL_SEGMENT_BYTES; at += chunk.bytes) {
        if (round_read_chunk(round, &chunk, offset_of(segment) + at, SPOOL_SEGMENT_BYTES - at) != 0)
            return false;
        uint64_t offset = offset_of(segment) + at;
        bool records = chunk.type == SPOOL_CUPTI || chunk.type == SPOOL_RECORDS;
        if (records && chunk.state == SPOOL_IN_USE)
            count_records(round, &chunk, offset);
        else if (records && chunk.state == SPOOL_DONE && round_drain_chunk(round, &chunk, offset) != 0)
            in_order = false;
        in_order = in_order && chunk.state == SPOOL_DRAINED; /* a drained chunk does not change */
        if (in_order) {
            segment->at = (uint32_t)(at + chunk.bytes);
            map_remove(&round->drain->seen, offset);
        }
        if (round->drain->no_space || round_is_to_stop(round))
            return false;
    }
    if (left)
        punch(round, segment);
    return left;
}

/* --- one spool --- */

static int note_new_segments(struct round *round)
{
    struct spool_drain *drain = round->drain;
    uint64_t end = round->header.formatted;
    uint64_t count = end > SPOOL_HEADER_BYTES ? (end - SPOOL_HEADER_BYTES) / SPOOL_SEGMENT_BYTES : 0;
    for (; drain->segments < count && drain->segments < UINT32_MAX; drain->segments++) {
        struct segment_drain *new = array_push(&drain->open);
        if (!new)
            return -1;
        new->number = drain->segments;
    }
    return 0;
}

static void drain_segments(struct round *round)
{
    struct spool_drain *drain = round->drain;
    size_t kept = 0;
    for (size_t i = 0; i < drain->open.count; i++) {
        struct segment_drain segment = drain->open.items[i];
        if (drain->no_space || round_is_to_stop(round) || !drain_segment(round, &segment))
            drain->open.items[kept++] = segment;
    }
    drain->open.count = kept;
}

static int round_open(struct round *round)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    round->spool = openat(round->tools->directory, round->drain->name, flags);
    return round->spool < 0 ? -1 : 0;
}

static void round_close(struct round *round)
{
    close(round->spool);
    if (round->packed >= 0)
        close(round->packed);
}

static void note_disk_use(struct round *round)
{
    struct stat status;
    if (fstat(round->spool, &status) == 0)
        round->drain->disk = (uint64_t)status.st_blocks * 512 + round->drain->packed_size;
}

int spool_drain_round(struct spool_drain *drain, struct drain_tools *tools)
{
    struct round round = {.drain = drain, .tools = tools, .packed = -1};
    if (round_open(&round) != 0)
        return -1;
    drain->no_space = false;
    bool there = round_read(round.spool, &round.header, sizeof(round.header), 0) == 0 && round.header.formatted > 0;
    drain->unusable = there && !round_is_usable(&round.header);
    if (there && !drain->unusable && note_new_segments(&round) == 0)
        drain_segments(&round);
    note_disk_use(&round);
    round_close(&round);
    return drain->no_space ? -1 : round.count;
}

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

/* Returns whether a mapping counts as an open file for leases, which stacked file systems do not guarantee. */
static bool leases_are_exact(int fd)
{
    struct statfs of;
    if (fstatfs(fd, &of) != 0)
        return false;
    switch ((unsigned)of.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    default: return false;
    }
}

/*
 * Returns whether no process can write into the spool any more, so that it may be removed. The kernel grants a read
 * lease only on a file that no process, in any PID namespace, has open or mapped for writing. If somebody opens the
 * file during the lease, this process gets SIGURG, which is ignored by default. The lock of the spool (common/spool.h)
 * is not enough: a process may go on writing without it, and a file system may have no locks.
 */
static bool writer_is_gone(int fd, const struct spool_header *header)
{
    int lease = fcntl(fd, F_SETSIG, SIGURG) == 0 ? fcntl(fd, F_SETLEASE, F_RDLCK) : -1;
    if (lease == 0)
        fcntl(fd, F_SETLEASE, F_UNLCK);
    else if (errno == EAGAIN)
        return false;
    if (lease == 0 && leases_are_exact(fd))
        return true;
    return header->state == SPOOL_FINISHED && !spool_lock_is_held(fd) && header->pid != 0 &&
           kill((pid_t)header->pid, 0) != 0 && errno == ESRCH;
}

/* --- the end of a spool whose process has ended --- */

/* If an ended process has at most this many packed bytes, they move to the file of ended processes; more stay in the
 * process's own packed file. */
#define ENDED_MOST SPOOL_SEGMENT_BYTES

/* Returns how many bytes CUPTI has written into a chunk that was in use: up to the end of its last record, or the whole
 * chunk if damaged data follows. */
static uint64_t bytes_in_use(struct round *round, const struct spool_chunk *chunk, uint64_t offset)
{
    uint8_t *data = round->tools->data;
    size_t space = (size_t)chunk->bytes - sizeof(*chunk);
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    struct cupti_walk walk;
    if (round_read(round->spool, data, space, offset + sizeof(*chunk)) != 0)
        return 0;
    cupti_record_sizes(sizes, &round->header);
    cupti_walk_begin(&walk, &(struct spool_part){.size = space}, data, sizes);
    size_t used = 0;
    while (cupti_walk_next(&walk))
        used = (size_t)(walk.at - data);
    return walk.damaged ? space : used;
}

/* Drains a chunk of an ended process, complete or not. Returns 0, or -1 if it is damaged or could not be packed. */
static int end_chunk(struct round *round, struct spool_chunk *chunk, uint64_t offset)
{
    bool records = chunk->type == SPOOL_CUPTI || chunk->type == SPOOL_RECORDS;
    if (!records || chunk->state == SPOOL_READY || chunk->state == SPOOL_DRAINED)
        return chunk->type == SPOOL_FREE || records ? 0 : -1;
    if (chunk->state != SPOOL_DONE && chunk->type == SPOOL_CUPTI)
        chunk->used = bytes_in_use(round, chunk, offset);
    chunk->state = SPOOL_DONE;
    return round_drain_chunk(round, chunk, offset);
}

/* Drains all chunks of an ended process. Returns 0, or -1 if there is no space, or if something is damaged: then the
 * spool stays, so that readers can report the damage. */
static int end_chunks(struct round *round)
{
    struct spool_chunk chunk;
    uint64_t end = round->header.formatted;
    struct stat status;
    if (fstat(round->spool, &status) != 0 || end > (uint64_t)status.st_size)
        return -1;
    for (uint64_t at = SPOOL_HEADER_BYTES; at < end; at += chunk.bytes) {
        uint64_t space = end - at < SPOOL_SEGMENT_BYTES ? end - at : SPOOL_SEGMENT_BYTES;
        if (round_is_to_stop(round) || round_read_chunk(round, &chunk, at, space) != 0 ||
            end_chunk(round, &chunk, at) != 0)
            return -1;
    }
    return 0;
}

/* Appends the process to the file of ended processes: first its chunks, then HEAD in front of them, without which
 * readers ignore the chunks. Returns 0 or -1. */
static int write_ended(struct round *round, int ended, const uint8_t *head, size_t head_size)
{
    struct drain_tools *tools = round->tools;
    size_t chunks = (size_t)round->drain->packed_size;
    if (!disk_has_space(ended, head_size + chunks) ||
        (chunks > 0 && (round_open_packed(round) != 0 || round_read(round->packed, tools->data, chunks, 0) != 0)) ||
        round_write(ended, tools->data, chunks, tools->ended + head_size) != 0 ||
        round_write(ended, head, head_size, tools->ended) != 0) {
        int cut = ftruncate(ended, (off_t)tools->ended);
        (void)cut; /* without the cut, readers find no entry, or a complete one whose spool exists too */
        return -1;
    }
    tools->ended += head_size + chunks;
    return 0;
}

static int add_to_ended(struct round *round)
{
    struct spool_drain *drain = round->drain;
    alignas(8) uint8_t head[ENDED_HEAD_MAX];
    size_t size = ended_head_pack(head, drain->name, &round->header, drain->packed_size);
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int ended = size > 0 ? openat(round->tools->directory, SPOOL_ENDED_FILE, flags, 0600) : -1;
    if (ended < 0)
        return -1;
    int result = write_ended(round, ended, head, size);
    close(ended);
    if (result != 0)
        return -1;
    /* The packed file first: once the spool is removed, a new spool may get its name. */
    unlinkat(round->tools->directory, drain->packed_name, 0);
    unlinkat(round->tools->directory, drain->name, 0);
    drain->disk = size + drain->packed_size;
    drain->removed = true;
    return 0;
}

static void end_spool(struct round *round)
{
    struct spool_drain *drain = round->drain;
    bool packed = end_chunks(round) == 0;
    drain->over = !drain->no_space && !round_is_to_stop(round);
    if (!packed || !drain->over)
        return;
    round->header.drained = drain->drained;
    round->header.formatted = SPOOL_HEADER_BYTES;
    if (drain->packed_size <= ENDED_MOST && add_to_ended(round) == 0)
        return;
    /* Only the header stays of a spool whose chunks are all packed. */
    static const uint64_t formatted = SPOOL_HEADER_BYTES;
    if (round_write(round->spool, &formatted, sizeof(formatted), offsetof(struct spool_header, formatted)) == 0 &&
        ftruncate(round->spool, SPOOL_HEADER_BYTES) == 0)
        note_disk_use(round);
}

void spool_drain_end(struct spool_drain *drain, struct drain_tools *tools)
{
    struct round round = {.drain = drain, .tools = tools, .packed = -1};
    int fd = openat(tools->directory, drain->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool there = fd >= 0 && round_read(fd, &round.header, sizeof(round.header), 0) == 0 &&
                 round_is_usable(&round.header) && round.header.formatted > 0;
    bool gone = there && writer_is_gone(fd, &round.header);
    if (fd >= 0)
        close(fd);
    if (!gone || round_open(&round) != 0)
        return;
    if (round_read(round.spool, &round.header, sizeof(round.header), 0) == 0) /* as after the process's last write */
        end_spool(&round);
    round_close(&round);
}
