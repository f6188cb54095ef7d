/* Rules about work of a GPU that could run at the same time and does not. */
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/names/name_facts.h"

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- asynchronous copies of pinned memory between kernels, while no kernel runs --- */

struct serial {
    struct name_facts names;
    uint32_t device;
    bool any;
    int64_t kernels_until, copies_until; /* the latest end so far; FIELD_ABSENT: none began */
    int64_t kernels, copies, overlap;    /* ns on this device; copies only up to the last kernel */
    struct {
        int64_t count, copies, overlap, bytes;
        struct finding_place first;
    } pending; /* copies since the last kernel */
    struct serial_sum {
        int64_t turns, bytes;
        int64_t copies, overlap, cost;
        struct finding_place worst;
        int64_t worst_ns;
    } sum, worst; /* of this device, and of the device with the largest cost */
};

static void end_device(struct serial *serial)
{
    struct serial_sum *sum = &serial->sum;
    int64_t shorter = least(serial->copies, serial->kernels);
    sum->copies = serial->copies;
    sum->overlap = serial->overlap;
    sum->cost = shorter - serial->overlap;
    bool serially =
        sum->turns >= FINDING_SERIAL_TURNS && serial->overlap <= shorter / 100 * FINDING_SERIAL_OVERLAP_PERCENT;
    if (serially && sum->cost > serial->worst.cost)
        serial->worst = *sum;
}

static int serial_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct serial *serial = state;
    if (!serial->any || serial->device != op->device) {
        if (serial->any)
            end_device(serial);
        serial->any = true;
        serial->device = op->device;
        serial->kernels_until = serial->copies_until = FIELD_ABSENT;
        serial->kernels = serial->copies = serial->overlap = 0;
        memset(&serial->sum, 0, sizeof(serial->sum));
        memset(&serial->pending, 0, sizeof(serial->pending));
    }
    if (op->category == CATEGORY_KERNEL || op->category == CATEGORY_GPU_GRAPH) {
        bool first = serial->kernels_until == FIELD_ABSENT;
        int64_t from = first ? op->start : most(op->start, serial->kernels_until);
        if (!first && serial->pending.count > 0) {
            sum_add(&serial->pending.overlap, most(0, least(serial->copies_until, op->end) - from));
            sum_add(&serial->copies, serial->pending.copies);
            sum_add(&serial->overlap, serial->pending.overlap);
            serial->sum.bytes = sum_of(serial->sum.bytes, serial->pending.bytes);
            serial->sum.turns++;
            if (serial->pending.copies > serial->sum.worst_ns) {
                serial->sum.worst_ns = serial->pending.copies;
                serial->sum.worst = serial->pending.first;
            }
        }
        memset(&serial->pending, 0, sizeof(serial->pending));
        sum_add(&serial->kernels, most(0, op->end - from));
        serial->kernels_until = first ? op->end : most(op->end, serial->kernels_until);
    }
    if (op->category != CATEGORY_GPU_MEMCPY || op->kind != CALL_COPY_ASYNC)
        return 0;
    unsigned facts = name_facts_find(&serial->names, &trace->strings, op->name);
    /* Copies before the first and after the last kernel cannot overlap with kernels, so they stay in `pending`. */
    if ((facts & (NAME_HTOD | NAME_DTOH)) && !(facts & NAME_PAGEABLE)) {
        bool first = serial->copies_until == FIELD_ABSENT;
        int64_t from = first ? op->start : most(op->start, serial->copies_until);
        if (serial->pending.count++ == 0)
            serial->pending.first = finding_at_op(op);
        serial->pending.bytes = sum_of(serial->pending.bytes, op->size);
        sum_add(&serial->pending.copies, most(0, op->end - from));
        if (serial->kernels_until != FIELD_ABSENT)
            sum_add(&serial->pending.overlap, most(0, least(serial->kernels_until, op->end) - from));
        serial->copies_until = first ? op->end : most(op->end, serial->copies_until);
    }
    return 0;
}

static int serial_find(void *state, struct findings *findings)
{
    struct serial *serial = state;
    if (serial->any)
        end_device(serial);
    const struct serial_sum *sum = &serial->worst;
    bool any = sum->turns > 0;
    struct finding *finding = any ? finding_add(findings, sum->cost, sum->cost, sum->turns, &sum->worst) : NULL;
    return finding_format(
        finding,
        "%s times kernels and copies of pinned memory (%s in all, %s) take turns, and %s of the copies' "
        "time is overlapped",
        amount_count(sum->turns).text, amount_size(sum->bytes).text, amount_time(sum->copies).text,
        amount_share(sum->overlap, sum->copies).text);
}

const struct rule rule_serial_copies = {
    .id = "serial-copies",
    .advice = "Use two streams and two buffers: copy the next part while the kernels work on this one "
              "(cudaMemcpyAsync(), cudaStreamWaitEvent()). In PyTorch: prefetch the next batch in a torch.cuda.Stream.",
    .section = "streams",
    .sources = {TRACE_MEMCPY, TRACE_KERNEL},
    .state_size = sizeof(struct serial),
    .op = serial_op,
    .find = serial_find,
    .release = finding_array_release,
};

/* --- the legacy default stream, which waits for all blocking streams of its context, as they wait for it --- */

#define LEGACY_STREAM 7 /* CUPTI's number */

struct side {
    int64_t start, end;  /* ns, of the operation that ended last; FIELD_ABSENT: none */
    uint32_t stream;     /* of that operation */
    struct offences ops; /* operations that leave room for other work on the GPU */
};

struct defaults {
    ARRAY(int64_t) ends; /* by stream: end of the last operation + 1; 0: none */
    int64_t waits;       /* calls that make a stream wait for an event */
    uint32_t device;
    bool any, legacy; /* legacy: the last operation was in the default stream */
    struct side sides[2];
    int64_t turns, overlapped;
    struct offences held;
};

static int defaults_call(void *state, const struct trace *trace, const struct host_call *call)
{
    ((struct defaults *)state)->waits++;
    return 0;
}

static int defaults_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct defaults *defaults = state;
    const struct trace_stream_id *id = trace_stream_id(trace, op->stream);
    bool legacy = id->stream == LEGACY_STREAM;
    int64_t *own_end = array_at(&defaults->ends, op->stream);
    if (!own_end)
        return -1;
    if (!defaults->any || defaults->device != op->device) {
        defaults->any = true;
        defaults->device = op->device;
        defaults->sides[0].end = defaults->sides[1].end = FIELD_ABSENT;
        defaults->legacy = legacy;
    }
    struct side *own = &defaults->sides[legacy], *other = &defaults->sides[!legacy];
    const struct trace_stream_id *beside = trace_stream_id(trace, other->stream);
    if (defaults->legacy != legacy && other->end != FIELD_ABSENT && id->process == beside->process &&
        id->context == beside->context) {
        /* The work changes from the other side to this stream, which was ready since its last end or the launch. */
        int64_t ready = op->returned == FIELD_ABSENT ? op->start : op->returned;
        ready = most(ready, *own_end ? *own_end - 1 : ready);
        int64_t ns = op->start < other->end ? 0 : other->end - most(ready, other->start);
        defaults->turns++;
        defaults->overlapped += op->start < other->end;
        if (ns > 0)
            offences_add_op(&defaults->held, op, ns);
    }
    defaults->legacy = legacy;
    *own_end = most(*own_end, op->end + 1);
    /* A kernel with a block for each multiprocessor leaves no room for other work. */
    int64_t multiprocessors = trace->devices.items[op->device].multiprocessors;
    bool fills_gpu = op->category == CATEGORY_KERNEL && multiprocessors > 0 && op->size >= multiprocessors;
    if (!fills_gpu)
        offences_add_op(&own->ops, op, op->end - op->start);
    if (own->end != FIELD_ABSENT && op->end <= own->end)
        return 0;
    own->start = op->start;
    own->end = op->end;
    own->stream = op->stream;
    return 0;
}

/* There is no finding if the program orders its streams by events, because it may need this order. Work that fills the
 * GPU gains nothing. */
static int defaults_find(void *state, struct findings *findings)
{
    const struct defaults *defaults = state;
    const struct offences *held = &defaults->held;
    bool apart = held->count >= FINDING_DEFAULT_TURNS && defaults->waits < held->count / 2 &&
                 defaults->overlapped * 100 <= defaults->turns * FINDING_DEFAULT_OVERLAP_PERCENT;
    int64_t gain = least(offences_cost(&defaults->sides[0].ops), offences_cost(&defaults->sides[1].ops));
    struct finding *finding = apart && gain > 0 ? finding_of(findings, held, gain) : NULL;
    return finding_format(finding,
                          "%s times work that was launched waits because the default stream and other streams "
                          "wait for each other, %s on average",
                          amount_count(held->count).text, amount_mean(sum_of(held->sum, held->most), held->count).text);
}

const struct rule rule_default_stream = {
    .id = "default-stream",
    .advice = "Launch nothing in the legacy default stream: give each work a stream made with "
              "cudaStreamCreateWithFlags(cudaStreamNonBlocking), or build with nvcc --default-stream per-thread. Order "
              "what depends on each other with cudaStreamWaitEvent().",
    .section = "streams",
    .sources = {TRACE_GPU_WORK, TRACE_API},
    .state_size = sizeof(struct defaults),
    .calls = CALL_KIND_BIT(CALL_WAIT_EVENT),
    .call = defaults_call,
    .op = defaults_op,
    .find = defaults_find,
    .release = finding_array_release,
};
