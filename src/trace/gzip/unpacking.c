#include "trace/gzip/unpacking.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libdeflate.h>

#include "common/ordered_loop.h"
#include "common/threads.h"
#include "trace/gzip/member.h"

enum {
    THREADS_MOST = 8, /* more would wait for the thread that takes the text */
    WORKERS_LEAST = 3,
};

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { FILE_LEAST = 0 };
#else
enum { FILE_LEAST = 128 << 10 }; /* smaller ones are read before threads have begun */
#endif

enum slot_state { SLOT_EMPTY, SLOT_UNPACKED, SLOT_DAMAGED };

struct slot {
    enum slot_state state;
    size_t size, length;    /* of the member, of its text */
    uint64_t offset;        /* of the member in the file */
    uint8_t *packed, *text; /* MEMBER_TEXT_MOST bytes of text */
    size_t packed_room;
};

struct unpacking {
    int fd;
    pthread_mutex_t lock; /* of all below but the slots that threads have at hand */
    pthread_cond_t unpacked, room;
    uint64_t offset;         /* of the next member to begin with */
    uint64_t begun, taken;   /* members; number N is in slot N % slot_count */
    bool ended;              /* there is none of ours at `offset` */
    bool stopped, has_given; /* nothing more is wanted; member `taken` is in use */
    unsigned started, slot_count;
    struct slot *slots;
    pthread_t threads[THREADS_MOST];
};

/* --- a member --- */

static bool read_all(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t length = 0;
    while (length < size) {
        ssize_t got = pread(fd, (char *)bytes + length, size - length, (off_t)(offset + length));
        if (got <= 0)
            return false;
        length += (size_t)got;
    }
    return true;
}

/* The size of the member of ours at OFFSET; 0: there is none. */
static size_t find_member(int fd, uint64_t offset)
{
    uint8_t head[MEMBER_HEAD_SIZE];
    return read_all(fd, head, sizeof(head), offset) ? member_size(head) : 0;
}

static bool read_packed(int fd, struct slot *slot)
{
    if (slot->packed_room < slot->size) {
        free(slot->packed);
        slot->packed = malloc(slot->size);
        slot->packed_room = slot->packed ? slot->size : 0;
    }
    return slot->packed && read_all(fd, slot->packed, slot->size, slot->offset);
}

/* libdeflate itself compares the checksum and the length. */
static bool unpack(int fd, struct slot *slot, struct libdeflate_decompressor *decompressor)
{
    size_t used = 0;
    if (!slot->text && !(slot->text = malloc(MEMBER_TEXT_MOST)))
        return false;
    return read_packed(fd, slot) &&
           libdeflate_gzip_decompress_ex(decompressor, slot->packed, slot->size, slot->text, MEMBER_TEXT_MOST, &used,
                                         &slot->length) == LIBDEFLATE_SUCCESS &&
           used == slot->size;
}

/* --- threads --- */

/* NULL: there is no other. With the lock held. */
static struct slot *begin_member(struct unpacking *unpacking)
{
    while (!unpacking->ended && !unpacking->stopped && unpacking->begun - unpacking->taken == unpacking->slot_count)
        pthread_cond_wait(&unpacking->room, &unpacking->lock);
    if (unpacking->ended || unpacking->stopped)
        return NULL;
    struct slot *slot = &unpacking->slots[unpacking->begun % unpacking->slot_count];
    slot->state = SLOT_EMPTY;
    slot->offset = unpacking->offset;
    slot->size = find_member(unpacking->fd, unpacking->offset);
    if (slot->size == 0) {
        unpacking->ended = true;
        pthread_cond_broadcast(&unpacking->room);
        pthread_cond_signal(&unpacking->unpacked);
        return NULL;
    }
    unpacking->offset += slot->size;
    unpacking->begun++;
    return slot;
}

static void *work(void *context)
{
    struct unpacking *unpacking = context;
    struct slot *slot;
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    pthread_mutex_lock(&unpacking->lock);
    while ((slot = begin_member(unpacking))) {
        pthread_mutex_unlock(&unpacking->lock);
        bool whole = decompressor && unpack(unpacking->fd, slot, decompressor);
        pthread_mutex_lock(&unpacking->lock);
        slot->state = whole ? SLOT_UNPACKED : SLOT_DAMAGED;
        unpacking->ended = unpacking->ended || !whole;
        pthread_cond_signal(&unpacking->unpacked);
    }
    pthread_mutex_unlock(&unpacking->lock);
    libdeflate_free_decompressor(decompressor);
    return NULL;
}

/* --- */

static bool is_worth_it(int fd, uint64_t offset)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) || (uint64_t)facts.st_size < offset + FILE_LEAST)
        return false;
    size_t first = find_member(fd, offset);
    return first > 0 && find_member(fd, offset + first) > 0;
}

struct unpacking *unpacking_begin(int fd, uint64_t offset, unsigned workers)
{
    workers = ordered_loop_workers(workers, 2 * THREADS_MOST);
    unsigned threads = (workers + 1) / 2;
    struct unpacking *unpacking =
        workers >= WORKERS_LEAST && is_worth_it(fd, offset) ? calloc(1, sizeof(*unpacking)) : NULL;
    if (!unpacking)
        return NULL;
    unpacking->fd = fd;
    unpacking->offset = offset;
    unpacking->slot_count = ordered_loop_slots(threads);
    unpacking->slots = calloc(unpacking->slot_count, sizeof(*unpacking->slots));
    pthread_mutex_init(&unpacking->lock, NULL);
    pthread_cond_init(&unpacking->unpacked, NULL);
    pthread_cond_init(&unpacking->room, NULL);
    if (unpacking->slots)
        unpacking->started = threads_start(unpacking->threads, threads, work, unpacking);
    if (unpacking->started > 0)
        return unpacking;
    unpacking_end(unpacking);
    return NULL;
}

bool unpacking_next(struct unpacking *unpacking, const char **text, size_t *size)
{
    pthread_mutex_lock(&unpacking->lock);
    if (unpacking->has_given) {
        unpacking->has_given = false;
        unpacking->taken++;
        pthread_cond_signal(&unpacking->room);
    }
    const struct slot *slot = &unpacking->slots[unpacking->taken % unpacking->slot_count];
    while (unpacking->taken == unpacking->begun ? !unpacking->ended : slot->state == SLOT_EMPTY)
        pthread_cond_wait(&unpacking->unpacked, &unpacking->lock);
    unpacking->has_given = unpacking->taken < unpacking->begun && slot->state == SLOT_UNPACKED;
    bool has_given = unpacking->has_given;
    pthread_mutex_unlock(&unpacking->lock);
    *text = (const char *)slot->text;
    *size = has_given ? slot->length : 0;
    return has_given;
}

static void release(struct unpacking *unpacking)
{
    for (unsigned i = 0; unpacking->slots && i < unpacking->slot_count; i++) {
        free(unpacking->slots[i].packed);
        free(unpacking->slots[i].text);
    }
    free(unpacking->slots);
    pthread_cond_destroy(&unpacking->room);
    pthread_cond_destroy(&unpacking->unpacked);
    pthread_mutex_destroy(&unpacking->lock);
    free(unpacking);
}

uint64_t unpacking_end(struct unpacking *unpacking)
{
    pthread_mutex_lock(&unpacking->lock);
    unpacking->stopped = true;
    pthread_cond_broadcast(&unpacking->room);
    pthread_mutex_unlock(&unpacking->lock);
    for (unsigned i = 0; i < unpacking->started; i++)
        pthread_join(unpacking->threads[i], NULL);
    uint64_t taken = unpacking->taken + (unpacking->has_given ? 1 : 0);
    uint64_t offset =
        taken < unpacking->begun ? unpacking->slots[taken % unpacking->slot_count].offset : unpacking->offset;
    release(unpacking);
    return offset;
}
