/*
 * The end of a spool whose process has ended (spool_drain.h).
 */
#include <fcntl.h>
#include <stdalign.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/disk_room.h"
#include "trace/spool/cupti.h"
#include "launch/round.h"
#include "launch/writer.h"
#include "trace/spool/ended_file.h"
#include "trace/spool/records.h"

/* So many packed bytes of a process that has ended go into the file for all of those; more stay in a file of their own.
 */
#define ENDED_MOST SPOOL_SEGMENT_BYTES

/* What CUPTI has written into a chunk that was in use: up to where no record is, or, if there is something else, all.
 */
static uint64_t bytes_in_use(struct round *round, const struct spool_chunk *chunk, uint64_t offset)
{
    uint8_t *data = round->tools->data;
    size_t room = (size_t)chunk->bytes - sizeof(*chunk);
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    struct cupti_walk walk;
    if (round_read(round->spool, data, room, offset + sizeof(*chunk)) != 0)
        return 0;
    cupti_record_sizes(sizes, &round->header);
    cupti_walk_begin(&walk, &(struct spool_part){.size = room}, data, sizes);
    size_t used = 0;
    while (cupti_walk_next(&walk))
        used = (size_t)(walk.at - data);
    return walk.damaged ? room : used;
}

/* Drains a chunk whatever its state. Gives 0, or -1. */
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

/* Gives 0, or -1: something is damaged, which readers are to see, or there was no room. */
static int end_chunks(struct round *round)
{
    struct spool_chunk chunk;
    uint64_t end = round->header.formatted;
    struct stat status;
    if (fstat(round->spool, &status) != 0 || end > (uint64_t)status.st_size)
        return -1;
    for (uint64_t at = SPOOL_HEADER_BYTES; at < end; at += chunk.bytes) {
        uint64_t room = end - at < SPOOL_SEGMENT_BYTES ? end - at : SPOOL_SEGMENT_BYTES;
        if (round_is_to_stop(round) || round_read_chunk(round, &chunk, at, room) != 0 ||
            end_chunk(round, &chunk, at) != 0)
            return -1;
    }
    return 0;
}

/* At the end of the file of processes that have ended: their chunks, then their head, without which they are nothing.
 */
static int write_ended(struct round *round, int ended, const uint8_t *head, size_t head_size)
{
    struct drain_tools *tools = round->tools;
    size_t chunks = (size_t)round->drain->packed_size;
    if (!disk_room(ended, head_size + chunks) ||
        (chunks > 0 && (round_open_packed(round) != 0 || round_read(round->packed, tools->data, chunks, 0) != 0)) ||
        round_write(ended, tools->data, chunks, tools->ended + head_size) != 0 ||
        round_write(ended, head, head_size, tools->ended) != 0) {
        int cut = ftruncate(ended, (off_t)tools->ended);
        (void)cut; /* what stays of it is no entry, or a whole one, whose spool is there still */
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
    unlinkat(round->tools->directory, drain->packed_name, 0); /* first: another spool may come to have that name */
    unlinkat(round->tools->directory, drain->name, 0);
    drain->disk = size + drain->packed_size;
    drain->removed = true;
    return 0;
}

/* Of a spool all of whose chunks are packed the header is kept. */
static void cut_spool(struct round *round)
{
    static const uint64_t formatted = SPOOL_HEADER_BYTES;
    if (round_write(round->spool, &formatted, sizeof(formatted), offsetof(struct spool_header, formatted)) == 0 &&
        ftruncate(round->spool, SPOOL_HEADER_BYTES) == 0)
        round_see_disk(round);
}

static void end_spool(struct round *round)
{
    struct spool_drain *drain = round->drain;
    bool packed = end_chunks(round) == 0;
    drain->over = !drain->no_room && !round_is_to_stop(round);
    if (!packed || !drain->over)
        return;
    round->header.drained = drain->drained;
    round->header.formatted = SPOOL_HEADER_BYTES;
    if (drain->packed_size > ENDED_MOST || add_to_ended(round) != 0)
        cut_spool(round);
}

static bool is_gone(const struct round *round)
{
    int fd = openat(round->tools->directory, round->drain->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool gone = fd >= 0 && writer_is_gone(fd, &round->header);
    if (fd >= 0)
        close(fd);
    return gone;
}

void spool_drain_end(struct spool_drain *drain, struct drain_tools *tools)
{
    struct round round = {.drain = drain, .tools = tools, .packed = -1};
    int fd = openat(tools->directory, drain->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool there = fd >= 0 && round_read(fd, &round.header, sizeof(round.header), 0) == 0 &&
                 round_is_usable(&round.header) && round.header.formatted > 0;
    if (fd >= 0)
        close(fd);
    if (!there || !is_gone(&round) || round_open(&round) != 0)
        return;
    if (round_read(round.spool, &round.header, sizeof(round.header), 0) == 0) /* as it is after the last write */
        end_spool(&round);
    round_close(&round);
}
