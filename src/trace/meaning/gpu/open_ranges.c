/*
 * Which NVTX ranges of a thread, and operators of PyTorch, are open at a time.
 *
 * Of push and pop, the last range that began by then is found by bisection; the open ones are it or around it. Of start
 * and end any may be open: a tree over their ends leads to the open one that started last, then to the one before it.
 * So a question takes O(log n) steps for each name that is kept, however many ranges are open.
 */
#include "trace/meaning/gpu/open_ranges.h"

#include "common/log.h"
#include "common/lookup.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/torch/operators.h"

/* --- names of what is open --- */

/* What is full loses its outermost name. */
static bool add_name(struct open_names *names, uint64_t start, struct name name)
{
    size_t place = 0;
    while (place < names->count && names->items[place].start < start)
        place++;
    if (names->count == OPEN_NAMES) {
        names->left_out = true;
        if (place == 0)
            return false;
        place--;
        memmove(names->items, names->items + 1, place * sizeof(*names->items));
    } else {
        memmove(names->items + place + 1, names->items + place, (names->count - place) * sizeof(*names->items));
        names->count++;
    }
    names->items[place] = (struct open_name){start, name};
    return true;
}

/* The same names are open from FROM until UNTIL. */
static void bound_time(struct open_names *names, uint64_t from, uint64_t until)
{
    names->from = from > names->from ? from : names->from;
    names->until = until < names->until ? until : names->until;
}

/* --- started ranges --- */

static int add_started(struct nvtx *nvtx, uint32_t thread, uint32_t number)
{
    const struct nvtx_range *range = nvtx_range(nvtx, number);
    struct nvtx_started_span span = {.start = range->start, .end = range->end, .thread = thread, .number = number};
    return ADD(file_vector_push, &nvtx->started_spans.items, span) ? 0 : -1;
}

ORDER_BY(by_thread_and_start, struct nvtx_started_span, thread, start, number)

static int grow_tree(struct nvtx_started_spans *spans)
{
    spans->leaves = 1;
    while (spans->leaves <= spans->items.count) /* one more, so that what is before any item is left of a node */
        spans->leaves *= 2;
    while (spans->latest.count < 2 * spans->leaves)
        if (!file_vector_push(&spans->latest))
            return -1;
    uint64_t *latest = spans->latest.items;
    for (size_t i = 0; i < spans->items.count; i++)
        latest[spans->leaves + i] = spans->items.items[i].end;
    for (size_t node = spans->leaves; node-- > 1;)
        latest[node] = latest[2 * node] > latest[2 * node + 1] ? latest[2 * node] : latest[2 * node + 1];
    return 0;
}

int open_ranges_begin(struct nvtx *nvtx)
{
    struct nvtx_started_spans *spans = &nvtx->started_spans;
    int result = 0;
    for (size_t i = 0; i < nvtx->started.count && result == 0; i++) {
        const struct nvtx_range *range = &nvtx->started.items[i];
        uint32_t number = (uint32_t)(nvtx->ranges.count + i);
        result = add_started(nvtx, range->thread, number);
        if (result == 0 && range->end_thread != range->thread)
            result = add_started(nvtx, range->end_thread, number);
    }
    if (result == 0 && spans->items.count > 0)
        result = file_vector_sort(&spans->items, by_thread_and_start) != 0 ? -1 : grow_tree(spans);
    return result == 0 ? 0 : error_no_memory("NVTX ranges");
}

void open_ranges_end(struct nvtx *nvtx)
{
    file_vector_release(&nvtx->started_spans.items);
    file_vector_release(&nvtx->started_spans.latest);
    nvtx->started_spans.leaves = 0;
}

/* The last of the first COUNT spans that has not ended before TIME: index + 1; 0: there is none. */
static size_t last_open(const struct nvtx_started_spans *spans, size_t count, uint64_t time)
{
    const uint64_t *latest = spans->latest.items;
    size_t node = spans->leaves + count; /* what is before it counts */
    while (node > 1 && !(node % 2 == 1 && latest[node - 1] >= time))
        node /= 2;
    if (node <= 1)
        return 0;
    for (node--; node < spans->leaves;)
        node = 2 * node + (latest[2 * node + 1] >= time);
    return node - spans->leaves + 1;
}

static void add_open_started(const struct nvtx *nvtx, uint32_t thread, uint64_t time, struct open_names *names)
{
    const struct nvtx_started_spans *spans = &nvtx->started_spans;
    const struct nvtx_started_span last = {.start = time, .thread = thread, .number = UINT32_MAX};
    size_t count = COUNT_BEFORE(spans->items.count, i, by_thread_and_start(&spans->items.items[i], &last) < 0);
    while (count > 0 && (count = last_open(spans, count, time)) > 0) {
        const struct nvtx_started_span *span = &spans->items.items[--count];
        if (span->thread != thread ||
            !add_name(names, span->start, nvtx_range_name(nvtx, nvtx_range(nvtx, span->number))))
            return;
    }
}

/* --- ranges of push and pop --- */

static uint64_t start_of(const struct nvtx *nvtx, const struct nvtx_track *track, size_t i)
{
    return nvtx->ranges.items[track->ranges.items[i]].start;
}

static struct name pushed_name(const struct process *process, uint32_t number)
{
    const struct nvtx_range *range = &process->nvtx->ranges.items[number];
    struct args unused;
    return range->kind == NVTX_RANGE ? nvtx_range_name(process->nvtx, range)
                                     : describe_operator(&unused, process, number, false);
}

static void add_open_pushed(const struct process *process, const struct nvtx_track *track, uint64_t time,
                            struct open_names *names)
{
    const struct nvtx *nvtx = process->nvtx;
    size_t begun = COUNT_BEFORE(track->ranges.count, i, start_of(nvtx, track, i) <= time);
    const struct nvtx_range *range;
    for (uint32_t next = begun > 0 ? track->ranges.items[begun - 1] + 1 : 0; next != 0; next = range->parent) {
        range = &nvtx->ranges.items[next - 1];
        if (range->end >= time && !add_name(names, range->start, pushed_name(process, next - 1)))
            return;
    }
}

/* --- all --- */

/* From TIME on, as long as no operator begins or ends. */
static void bound_operators(const struct nvtx *nvtx, const struct nvtx_track *track, uint64_t time,
                            struct open_names *names)
{
    size_t begun = COUNT_BEFORE(track->ranges.count, i, start_of(nvtx, track, i) <= time);
    const struct nvtx_range *range;
    bound_time(names, time, begun < track->ranges.count ? start_of(nvtx, track, begun) : UINT64_MAX);
    for (uint32_t next = begun > 0 ? track->ranges.items[begun - 1] + 1 : 0; next != 0; next = range->parent) {
        range = &nvtx->ranges.items[next - 1];
        if (range->end >= time)
            bound_time(names, time, range->end + 1);
    }
}

/* The piece of the thread's time in which the same ranges are open. */
static void bound(const struct nvtx *nvtx, uint32_t thread, uint64_t time, struct open_names *names)
{
    const struct projection_pieces *pieces = FIND_ITEM(&nvtx->projections.pieces, &nvtx->projections.threads, thread);
    if (!pieces)
        return;
    size_t begun = COUNT_BEFORE(pieces->starts.count, i, pieces->starts.items[i] <= time);
    if (begun > 0)
        bound_time(names, pieces->starts.items[begun - 1], UINT64_MAX);
    if (begun < pieces->starts.count)
        bound_time(names, 0, pieces->starts.items[begun]);
}

void open_ranges_at(const struct process *process, uint32_t thread, uint64_t time, struct open_names *names)
{
    const struct nvtx *nvtx = process->nvtx;
    bound(nvtx, thread, time, names);
    for (const struct nvtx_track *track = nvtx_first_track(nvtx, thread); track; track = nvtx_next_track(nvtx, track)) {
        if (track->domain == NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR))
            bound_operators(nvtx, track, time, names);
        add_open_pushed(process, track, time, names);
    }
    add_open_started(nvtx, thread, time, names);
}
