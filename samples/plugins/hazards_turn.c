/* What all callbacks of `hazards` go through: the lock, the stack, the stream, and reporting what was found. */
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "hazards.h"

/* Results and attributes of the driver's. */
enum { INVALID_VALUE = 1, NOT_FOUND = 500, MEMORY_TYPE = 2 };

/* The driver is asked by name, for a plugin needs nothing of CUDA's to be built. There is nothing at an address that is
 * in no allocation and is of no type. */
static bool driver_knows_nothing_at(uint64_t address)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *range = driver ? dlsym(driver, "cuMemGetAddressRange_v2") : NULL;
    void *attribute = driver ? dlsym(driver, "cuPointerGetAttribute") : NULL;
    int (*range_of)(uint64_t *base, size_t *bytes, uint64_t address) = NULL;
    int (*attribute_of)(void *value, int attribute, uint64_t address) = NULL;
    bool nothing = false;
    memcpy(&range_of, &range, sizeof(range_of));
    memcpy(&attribute_of, &attribute, sizeof(attribute_of));
    if (range_of && attribute_of) {
        uint64_t base;
        size_t bytes;
        unsigned type;
        int in_range = range_of(&base, &bytes, address);
        nothing = (in_range == NOT_FOUND || in_range == INVALID_VALUE) &&
                  attribute_of(&type, MEMORY_TYPE, address) == INVALID_VALUE;
    }
    if (driver)
        dlclose(driver);
    return nothing;
}

bool (*hazards_nothing_at)(uint64_t address) = driver_knows_nothing_at;

/* Whether the host can read the byte at ADDRESS: malloc() or mmap() may have given it to the program after CUDA freed
 * it, and CUDA hears nothing of that. What CUDA keeps for itself cannot be read. True also when there is no way to
 * know.
 */
static bool host_has_memory_at(uint64_t address)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return true;
    bool readable = write(ends[1], (const void *)(uintptr_t)address, 1) == 1; /* else EFAULT, and no signal */
    close(ends[0]);
    close(ends[1]);
    return readable;
}

/* A call that CUDA refused found no memory at all. */
static bool is_certain(const struct finding *finding)
{
    return !finding->ask ||
           (hazards_nothing_at(finding->probe) && (finding->refused || !host_has_memory_at(finding->probe)));
}

/* --- turns --- */

void turn_begin(struct turn *turn, struct hazards *hazards)
{
    turn->hazards = hazards;
    turn->findings.count = 0;
    pthread_mutex_lock(&hazards->lock);
}

void turn_end(struct turn *turn)
{
    struct hazards *hazards = turn->hazards;
    bool meet = hazards->several_devices; /* then kernels may be barriers */
    if (hazards->held_count)
        hazards_tell_held(hazards, false);
    pthread_mutex_unlock(&hazards->lock);
    if (meet)
        hazards_want_launches(hazards);
    for (unsigned i = 0; i < turn->findings.count; i++) {
        const struct finding *finding = &turn->findings.of[i];
        if (!is_certain(finding))
            continue;
        pthread_mutex_lock(&hazards->lock);
        hazards_tell(hazards, finding);
        pthread_mutex_unlock(&hazards->lock);
    }
}

/* What happens to stream NUMBER may be ordered after what was declared for stream DECLARED. */
static bool concerns(const struct order *order, uint32_t number, uint32_t declared)
{
    return number == ORDER_STREAMS_MAX || number == declared || order->streams[number].sort == ORDER_LEGACY ||
           order->streams[declared].sort == ORDER_LEGACY;
}

void turn_commit(struct turn *turn, uint32_t number)
{
    struct hazards *hazards = turn->hazards;
    uint32_t kept = 0, count = hazards->declared_count;
    for (uint32_t i = 0; i < count; i++) {
        struct use use = hazards->declared[i];
        if (!concerns(&hazards->order, number, use.stream)) {
            hazards->declared[kept++] = use;
            continue;
        }
        use.time = order_put(&hazards->order, use.stream);
        bool judged = order_judges(&hazards->order, use.stream);
        hazards->operations += judged;
        hazards->unjudged += !judged && use.time != 0;
        if (judged)
            memory_use(&hazards->memory, &hazards->order, &use, false, &turn->findings);
    }
    if (count)
        __atomic_store_n(&hazards->declared_count, kept, __ATOMIC_RELAXED); /* launches look at it without the lock */
}

/* Kernels may synchronise across devices, by way of memory; on one device that is not done between streams. */
static void note_device(struct hazards *hazards, uint32_t device)
{
    if (device == GPUTRACE_NO_DEVICE)
        return;
    if (hazards->device == 0)
        hazards->device = device + 1;
    else if (hazards->device != device + 1)
        hazards->several_devices = true;
}

static void note_thread(struct hazards *hazards, uint32_t thread)
{
    if (hazards->thread == 0)
        hazards->thread = thread;
    else if (hazards->thread != thread)
        hazards->several_threads = true;
}

uint32_t turn_stream(struct turn *turn, const struct gputrace_call *call, struct CUstream_st *stream)
{
    uint32_t number = order_stream_of(&turn->hazards->order, call, stream);
    note_device(turn->hazards, call->device);
    note_thread(turn->hazards, call->thread);
    turn_commit(turn, number);
    return number;
}

/* --- work --- */

/* Of default streams, whose creation nobody sees. CUPTI is asked once in a while, without the lock. */
static uint32_t default_stream_id(const struct gputrace_host *host, const struct gputrace_call *call,
                                  struct CUstream_st *stream)
{
    static _Thread_local struct {
        struct CUctx_st *context;
        uint32_t id;
    } kept[2];
    unsigned which = stream == HAZARDS_PER_THREAD;
    if (!call->context)
        return GPUTRACE_NO_STREAM;
    if (kept[which].context != call->context) {
        kept[which].context = call->context;
        kept[which].id = gputrace_stream_id(host, call->context, which ? stream : NULL);
    }
    return kept[which].id;
}

static bool is_default(struct CUstream_st *stream)
{
    return stream == NULL || stream == HAZARDS_LEGACY || stream == HAZARDS_PER_THREAD;
}

void work_begin(struct work *work, struct hazards *hazards, const struct gputrace_call *call,
                struct CUstream_st *stream)
{
    work->call = call;
    work->stream = stream;
    work->stack = hazards->no_stacks ? 0 : gputrace_stack(hazards->host, 0);
    work->stream_id = is_default(stream) ? default_stream_id(hazards->host, call, stream) : GPUTRACE_NO_STREAM;
    work->number = ORDER_STREAMS_MAX;
    work->time = 0;
    work->runs = work->judged = false;
    turn_begin(&work->turn, hazards);
}

void work_put(struct work *work)
{
    struct hazards *hazards = work->turn.hazards;
    work->number = turn_stream(&work->turn, work->call, work->stream);
    work->time = order_put(&hazards->order, work->number);
    work->runs = work->time != 0;
    work->judged = order_judges(&hazards->order, work->number);
    if (work->stream_id == GPUTRACE_NO_STREAM)
        work->stream_id = hazards->order.streams[work->number].stream_id;
    hazards->operations += work->judged;
    hazards->unjudged += work->runs && !work->judged;
}

void work_end(struct work *work)
{
    turn_end(&work->turn);
}

struct use work_use_of(const struct work *work, enum place_what what, const struct shape *shape, uint64_t address,
                       uint64_t bytes)
{
    return (struct use){
        .shape = *shape,
        .place = {.what = what,
                  .stack = work->stack,
                  .time = work->call->start,
                  .function = work->call->function,
                  .stream = work->stream,
                  .stream_id = work->stream_id,
                  .thread = work->call->thread,
                  .in_stream = work->number != ORDER_STREAMS_MAX,
                  .address = address,
                  .bytes = bytes},
        .stream = work->number,
        .writes = what != PLACE_COPY_FROM && what != PLACE_DECLARED_READ,
        .time = work->time,
    };
}

void work_use(struct work *work, enum place_what what, const struct shape *shape, uint64_t address, uint64_t bytes,
              bool array)
{
    struct use use = work_use_of(work, what, shape, address, bytes);
    if (work->judged && bytes)
        memory_use(&work->turn.hazards->memory, &work->turn.hazards->order, &use, array, &work->turn.findings);
}
