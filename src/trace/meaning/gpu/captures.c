/*
 * For each node of a graph, finds what was open on the threads that captured it, and makes a path of the names. A
 * replayed operation finds its path by its node.
 *
 * For ranges of push and pop, bisection finds the last range that had begun; the open ranges are that one or enclose
 * it. Among ranges of start and end any may be open: a tree over their ends leads to the open one that started last,
 * then to the one before it. So a lookup takes O(log n) steps for each name that is kept, however many ranges are open.
 */
#include "trace/meaning/gpu/captures.h"

#include "common/log.h"
#include "common/text.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/torch/torch_launches.h"
#include "trace/meaning/torch/operators.h"

/* --- names of what is open --- */

/* Adds a name in order of its start. If NAMES is full, the outermost name goes. Returns false if that is this one. */
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

/* Narrows the times in which NAMES are open to those from FROM until UNTIL. */
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
    while (spans->leaves <= spans->items.count) /* one more than items: last_open() starts at the leaf behind them */
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

/* Returns the index + 1 of the last of the first COUNT spans that has not ended before TIME, or 0. */
static size_t last_open(const struct nvtx_started_spans *spans, size_t count, uint64_t time)
{
    const uint64_t *latest = spans->latest.items;
    size_t node = spans->leaves + count; /* the search covers all leaves before this one */
    while (node > 1 && !(node % 2 == 1 && latest[node - 1] >= time))
        node /= 2;
    if (node <= 1)
        return 0;
    for (node--; node < spans->leaves;)
        node = 2 * node + (latest[2 * node + 1] >= time);
    return node - spans->leaves + 1;
}

/* --- ranges of push and pop --- */

static uint64_t start_of(const struct nvtx *nvtx, const struct nvtx_track *track, size_t i)
{
    return nvtx->ranges.items[track->ranges.items[i]].start;
}

static void add_open_pushed(const struct process *process, const struct nvtx_track *track, uint64_t time,
                            struct open_names *names)
{
    const struct nvtx *nvtx = process->nvtx;
    size_t begun = COUNT_BEFORE(track->ranges.count, i, start_of(nvtx, track, i) <= time);
    const struct nvtx_range *range;
    for (uint32_t next = begun > 0 ? track->ranges.items[begun - 1] + 1 : 0; next != 0; next = range->parent) {
        range = &nvtx->ranges.items[next - 1];
        if (range->end < time)
            continue;
        struct args unused;
        struct name name = range->kind == NVTX_RANGE ? nvtx_range_name(nvtx, range)
                                                     : describe_operator(&unused, process, next - 1, false);
        if (!add_name(names, range->start, name))
            return;
    }
}

/* Narrows the times of NAMES to those around TIME in which no operator begins or ends. */
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

void open_ranges_at(const struct process *process, uint32_t thread, uint64_t time, struct open_names *names)
{
    const struct nvtx *nvtx = process->nvtx;
    /* The piece of the thread's time around TIME in which no range begins or ends. */
    const struct projection_pieces *pieces = FIND_ITEM(&nvtx->projections.pieces, &nvtx->projections.threads, thread);
    if (pieces) {
        size_t begun = COUNT_BEFORE(pieces->starts.count, i, pieces->starts.items[i] <= time);
        if (begun > 0)
            bound_time(names, pieces->starts.items[begun - 1], UINT64_MAX);
        if (begun < pieces->starts.count)
            bound_time(names, 0, pieces->starts.items[begun]);
    }
    for (const struct nvtx_track *track = nvtx_first_track(nvtx, thread); track; track = nvtx_next_track(nvtx, track)) {
        if (track->domain == NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR))
            bound_operators(nvtx, track, time, names);
        add_open_pushed(process, track, time, names);
    }
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

#define SEPARATOR " / "
#define LEFT_OUT "…"

#define CAPTURE_NO_MEMORY UINT32_MAX

static uint32_t context_of_path(struct process *process, const char *path, size_t length)
{
    struct captures *captures = process->captures;
    uint32_t number = names_put(&process->conversion->names, path, length);
    if (number == NAMES_NO_MEMORY)
        return CAPTURE_NO_MEMORY;
    const struct name *kept = names_get(&process->conversion->names, number);
    bool is_new;
    uint64_t *index = map_put(&captures->by_path, number, &is_new);
    struct capture_context *context = index && is_new ? array_push(&captures->contexts) : NULL;
    if (!index || (is_new && !context)) {
        error_no_memory("what was open when graphs were captured");
        return CAPTURE_NO_MEMORY;
    }
    if (is_new) {
        context->arg = (struct arg){.key = ARG_CAPTURED_IN, .type = ARG_TYPE_TEXT};
        context->arg.text = kept->text;
        context->arg.length = kept->length;
        *index = captures->contexts.count;
    }
    return (uint32_t)*index;
}

static uint32_t find_context(struct process *process, const struct open_names *names)
{
    struct buffer path;
    if (names->count == 0)
        return 0;
    buffer_init_memory(&path);
    /* The outermost name that fits into the path is the first; the innermost one is always shown. */
    size_t first = names->count, bytes = 0;
    while (first > 0) {
        bytes += names->items[first - 1].name.length + strlen(SEPARATOR);
        if (bytes > CAPTURE_PATH && first < names->count)
            break;
        first--;
    }
    if (first > 0 || names->left_out)
        buffer_text(&path, LEFT_OUT SEPARATOR);
    for (size_t i = first; i < names->count; i++) {
        const struct name *name = &names->items[i].name;
        size_t length = utf8_cut(name->text, name->length, CAPTURE_PATH);
        if (i > first)
            buffer_text(&path, SEPARATOR);
        buffer_bytes(&path, name->text, length);
        if (length < name->length)
            buffer_text(&path, LEFT_OUT);
    }
    if (path.failure)
        error_no_memory("what was open when graphs were captured");
    uint32_t context = path.failure ? CAPTURE_NO_MEMORY : context_of_path(process, path.data, path.length);
    buffer_release(&path);
    return context;
}

/* --- nodes --- */

/* Returns index + 1 in `contexts` of what was open when a node was made; 0 if nothing was, or CAPTURE_NO_MEMORY. Ranges
 * of the thread that began the capture count too, if the node's thread has none, or runs the backward pass while the
 * other one waits. If no other thread began the capture of an autograd thread, the main thread counts as the other. */
static uint32_t context_of(struct process *process, const struct graph_node_change *made)
{
    uint32_t other = made->capturer;
    if (other == 0 && process_is_of_autograd(process, made->thread))
        other = process->file.header.pid;
    /* The cache has one answer for each value of thread % CAPTURE_RECENT. */
    uint32_t thread = made->thread;
    uint64_t time = made->time;
    struct capture_answer *answer = &process->captures->recent[thread % CAPTURE_RECENT];
    if (answer->until == 0 || answer->thread != thread || answer->other != other || time < answer->from ||
        time >= answer->until) {
        struct open_names names;
        names.count = 0;
        names.left_out = false;
        names.from = 0;
        names.until = UINT64_MAX;
        open_ranges_at(process, thread, time, &names);
        if (other != 0 && (names.count == 0 || process_is_of_autograd(process, thread)))
            open_ranges_at(process, other, time, &names);
        uint32_t context = find_context(process, &names);
        *answer = (struct capture_answer){names.from, names.until, thread, other, context};
    }
    return answer->context;
}

ORDER_BY(by_node, struct node_stack, node, time)

int index_graph_node_stack(struct process *process, const struct event *event)
{
    const struct spool_graph_node_stack *record = event->record;
    const struct node_stack stack = {record->node, event->start, event->thread, record->stack};
    if (!ADD(file_vector_push, &process->captures->stacks, stack))
        return error_no_memory("what was open when graphs were captured");
    return stacks_use(process->stacks, record->stack, 1);
}

static int resolve_change(struct process *process, size_t change)
{
    const struct graph_nodes *nodes = &process->kernel_names->nodes;
    const struct graph_node_change *made = graph_nodes_origin(nodes, change);
    struct capture capture = {0};
    if (made && nvtx_range_count(process->nvtx) > 0)
        capture.context = context_of(process, made);
    if (capture.context == CAPTURE_NO_MEMORY)
        return -1;
    if (made) {
        const struct captures *captures = process->captures;
        size_t place = COUNT_BEFORE(captures->stacks.count, i, captures->stacks.items[i].node < made->node);
        bool found = place < captures->stacks.count && captures->stacks.items[place].node == made->node;
        capture.stack = found ? captures->stacks.items[place].stack : 0;
    }
    return ADD(file_vector_push, &process->captures->of_changes, capture)
               ? 0
               : error_no_memory("what was open when graphs were captured");
}

int captures_resolve(struct process *process)
{
    const struct graph_nodes *nodes = &process->kernel_names->nodes;
    struct captures *captures = process->captures;
    int result = 0;
    if (nodes->changes.count == 0 || (nvtx_range_count(process->nvtx) == 0 && captures->stacks.count == 0))
        return 0;
    if (file_vector_sort(&captures->stacks, by_node) != 0)
        return error_no_memory("what was open when graphs were captured");
    if (inner_nodes_make(&captures->inner, nodes) != 0 || open_ranges_begin(process->nvtx) != 0)
        return -1;
    for (size_t i = 0; i < nodes->changes.count && result == 0; i++) {
        result = resolve_change(process, i);
        process_passed(process, i);
    }
    open_ranges_end(process->nvtx);
    /* Now that the array does not move any more, each context gets its list, numbered across processes. */
    for (size_t i = 0; i < captures->contexts.count; i++) {
        struct capture_context *context = &captures->contexts.items[i];
        context->list = (struct arg_list){&context->arg, 1, ++process->conversion->arg_lists};
    }
    return result;
}

/* --- lines in the backward pass --- */

int captures_find_lines(struct process *process)
{
    struct captures *captures = process->captures;
    struct nvtx_places places = {0};
    if (process->operators->flows > 0) {
        int result = forward_stacks_add_calls(process, &places);
        for (size_t i = 0; i < captures->stacks.count && result == 0; i++) {
            const struct node_stack *node = &captures->stacks.items[i];
            const struct launch_site site = {node->thread, node->stack, node->time};
            result = forward_stacks_add(process, &places, &site);
        }
        if (result != 0 || forward_stacks_sort(process) != 0)
            return -1;
    }
    for (size_t i = 0; i < captures->of_changes.count; i++) {
        const struct graph_node_change *made = graph_nodes_origin(&process->kernel_names->nodes, i);
        struct capture *capture = &captures->of_changes.items[i];
        if (made) {
            const struct launch_site site = {made->thread, capture->stack, made->time};
            capture->line = launch_line(process, &places, &site, &capture->line_kind);
        }
    }
    return 0;
}

/* --- what is asked for in the write pass --- */

/* An operation in a conditional body has no correlation id if its launch was not recorded: then any launch will do. */
static uint32_t call_of(uint32_t correlation)
{
    return correlation ? correlation : UINT32_MAX;
}

/* Whether the operation may be what the node launches, by what was recorded. */
static bool fits(const struct process *process, uint64_t node, const struct event *event)
{
    const struct kernel_names *names = process->kernel_names;
    uint64_t time = 0, function = graph_nodes_find(&names->nodes, node, call_of(event->correlation), &time);
    if (event->type != EVENT_KERNEL)
        return function == 0;
    uint32_t expected = function ? pointer_names_find(&names->functions, function, time) : NAMES_NO_MEMORY;
    uint32_t recorded = expected != NAMES_NO_MEMORY ? kernel_name_number(process, event) : NAMES_NO_MEMORY;
    return recorded == NAMES_NO_MEMORY || recorded == expected;
}

void captures_scan(const struct process *process, const struct event *event)
{
    const struct inner_nodes *inner = &process->captures->inner;
    uint64_t node = inner->items.count > 0 ? gpu_op_node(event) : 0;
    uint64_t reported = node ? inner_nodes_find(inner, node, call_of(event->correlation)) : 0;
    if (reported != 0 && !fits(process, reported, event))
        inner_nodes_refute(inner, node);
}

const struct capture *captures_find(const struct process *process, uint64_t node, uint32_t correlation)
{
    const struct captures *captures = process->captures;
    const struct graph_nodes *nodes = &process->kernel_names->nodes;
    if (node == 0 || captures->of_changes.count == 0)
        return NULL;
    size_t change = graph_nodes_change(nodes, node, correlation);
    uint32_t call = call_of(correlation);
    uint64_t reported = change == SIZE_MAX ? inner_nodes_find(&captures->inner, node, call) : 0;
    if (reported != 0)
        change = graph_nodes_change(nodes, reported, call);
    return change < captures->of_changes.count ? &captures->of_changes.items[change] : NULL;
}
