#include "agent/spool/crash_chunk.h"

#include <string.h>

#include "agent/spool/writer.h"
#include "agent/dispatch/registry.h"
#include "common/settings.h"

static struct {
    struct spool_chunk *chunk; /* NULL: none */
    uint64_t used;
    struct spool_open_call *calls; /* CRASH_CHUNK_CALLS of them, at its begin */
} last;

/* Where this thread's last call stood: mostly free again. */
struct last_call {
    struct spool_open_call *call; /* NULL: none is open that stands in the table */
    uint32_t correlation;
    uint32_t index;
};
static __thread struct last_call this_call;

int crash_chunk_open(void)
{
    if (last.chunk)
        return 0;
    struct spool_chunk *chunk = chunk_take(SPOOL_RECORDS);
    if (!chunk)
        return -1;
    struct spool_open_call *calls = (struct spool_open_call *)chunk_data(chunk);
    for (unsigned i = 0; i < CRASH_CHUNK_CALLS; i++)
        calls[i] = (struct spool_open_call){
            .head = {.type = SPOOL_RECORD_OPEN_CALL, .flags = SPOOL_CALL_RETURNED, .bytes = sizeof(*calls)}};
    last.used = CRASH_CHUNK_CALLS * sizeof(*calls);
    __atomic_store_n(&chunk->used, last.used, __ATOMIC_RELEASE);
    last.chunk = chunk;
    __atomic_store_n(&last.calls, calls, __ATOMIC_RELEASE);
    return 0;
}

/* --- open calls --- */

static inline struct spool_open_call *take_call(struct last_call *mine, struct spool_open_call *calls)
{
    for (unsigned tried = 0; tried < CRASH_CHUNK_CALLS; tried++) {
        unsigned index = (mine->index + tried) % CRASH_CHUNK_CALLS;
        uint16_t returned = SPOOL_CALL_RETURNED;
        if (__atomic_compare_exchange_n(&calls[index].head.flags, &returned, (uint16_t)SPOOL_CALL_TAKEN, false,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            mine->index = index;
            return &calls[index];
        }
    }
    return NULL;
}

static inline void close_call(struct last_call *mine)
{
    if (mine->call)
        __atomic_store_n(&mine->call->head.flags, (uint16_t)SPOOL_CALL_RETURNED, __ATOMIC_RELEASE);
    mine->call = NULL;
}

/* Of nested calls the outermost is kept. One whose end is not seen ends with the next. */
static inline void call_begins(struct last_call *mine, const struct gputrace_open_call *what)
{
    struct spool_open_call *calls = __atomic_load_n(&last.calls, __ATOMIC_ACQUIRE);
    if (mine->call && mine->correlation == what->correlation)
        return;
    close_call(mine);
    if (!calls)
        return;
    if (mine->index == 0)
        mine->index = what->thread; /* threads begin to look in different places */
    struct spool_open_call *call = take_call(mine, calls);
    if (!call)
        return;
    call->head.time = what->start;
    call->object = what->object;
    call->what = what->what;
    call->cbid = what->cbid;
    call->correlation = what->correlation;
    call->thread = what->thread;
    mine->call = call;
    mine->correlation = what->correlation;
    __atomic_store_n(&call->head.flags, (uint16_t)SPOOL_CALL_OPEN, __ATOMIC_RELEASE);
}

static void call_changed(void *data, const struct gputrace_open_call *what)
{
    (void)data;
    struct last_call *mine = &this_call;
    __asm__("" : "+r"(mine)); /* found once: to find a thread's own takes a call */
    if (!what->returned)
        call_begins(mine, what);
    else if (mine->call && mine->correlation == what->correlation && mine->call->cbid == what->cbid)
        close_call(mine);
}

int crash_chunk_subscribe(uint64_t trace_bits)
{
    return trace_bits & TRACE_SYNC ? registry_open_call_register(call_changed, NULL) : 0;
}

/* --- a crashing thread --- */

void *crash_chunk_begin(enum spool_record_type type, uint32_t bytes, uint64_t time)
{
    if (!last.chunk || last.used + bytes > chunk_room(last.chunk))
        return NULL;
    char *at = chunk_data(last.chunk) + last.used;
    memset(at, 0, bytes);
    *(struct spool_record *)at = (struct spool_record){.type = (uint16_t)type, .bytes = bytes, .time = time};
    return at;
}

void crash_chunk_commit(const struct spool_record *record)
{
    last.used += record->bytes;
    __atomic_store_n(&last.chunk->used, last.used, __ATOMIC_RELEASE);
}

void crash_chunk_atfork_child(void)
{
    last.chunk = NULL;
    last.calls = NULL;
    last.used = 0;
    this_call.call = NULL;
}
