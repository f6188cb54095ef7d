#include "trace/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"

#define REST_SPANS ((size_t)1 << 18) /* are walked over before they are given back */

void lanes_init(struct lanes *lanes, enum lanes_rule rule)
{
    *lanes = (struct lanes){.rule = rule, .count = 1, .others_start = UINT64_MAX};
}

void lanes_release(struct lanes *lanes)
{
    file_vector_release(&lanes->spans);
}

static void remember(struct lanes *lanes, uint64_t start, uint64_t end)
{
    if (lanes->recent_count == LANES_RECENT) {
        if (lanes->forgotten_end == 0)
            lanes->first = lanes->recent[0];
        lanes->forgotten_end = lanes->recent[0].end;
        memmove(lanes->recent, lanes->recent + 1, sizeof(lanes->recent) - sizeof(lanes->recent[0]));
        lanes->recent_count--;
    }
    lanes->recent[lanes->recent_count++] = (struct lanes_recent){start, end};
}

static uint64_t last_end(const struct lanes *lanes)
{
    return lanes->recent_count ? lanes->recent[lanes->recent_count - 1].end : lanes->forgotten_end;
}

/* One that is not the first of those that no other encloses, or is so no more. */
static void see_other(struct lanes *lanes, uint64_t start)
{
    lanes->others_start = start < lanes->others_start ? start : lanes->others_start;
}

void lanes_see(struct lanes *lanes, uint64_t start, uint64_t end)
{
    if (lanes->collecting)
        return;
    if (end < last_end(lanes)) {
        lanes->collecting = true;
        return;
    }
    while (lanes->rule == LANES_NEST && lanes->recent_count && lanes->recent[lanes->recent_count - 1].start >= start)
        see_other(lanes, lanes->recent[--lanes->recent_count].start);
    if (start < last_end(lanes)) {
        lanes->collecting = true;
        return;
    }
    if (lanes->recent_count > 0 || lanes->forgotten_end > 0)
        see_other(lanes, start);
    remember(lanes, start, end);
}

static void append_all(struct lanes *lanes, const struct lanes *more)
{
    for (unsigned i = 1; i < more->recent_count; i++)
        remember(lanes, more->recent[i].start, more->recent[i].end);
}

static void append_last(struct lanes *lanes, const struct lanes *more)
{
    memcpy(lanes->recent, more->recent, sizeof(lanes->recent));
    lanes->recent_count = more->recent_count;
    lanes->forgotten_end = more->forgotten_end;
}

/* Only the first of those that nothing encloses can have to do with what was before, where no other begins earlier. */
void lanes_append(struct lanes *lanes, const struct lanes *more)
{
    if (more->collecting || more->others_start < last_end(lanes))
        lanes->collecting = true;
    if (lanes->collecting || more->recent_count == 0)
        return;
    const struct lanes_recent *first = more->forgotten_end ? &more->first : &more->recent[0];
    lanes_see(lanes, first->start, first->end);
    if (more->forgotten_end)
        append_last(lanes, more);
    else
        append_all(lanes, more);
}

int lanes_collect(struct lanes *lanes, uint64_t start, uint64_t end)
{
    return lanes_collect_own(lanes, start, end, 0);
}

int lanes_collect_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner)
{
    if (!lanes->collecting)
        return 0;
    struct lanes_span *span = file_vector_push(&lanes->spans);
    if (!span)
        return error_no_memory("the order of rows");
    span->start = start;
    span->end = end;
    span->owner = owner;
    return 0;
}

/* What encloses comes before what is enclosed. */
static int outer_first(const void *a, const void *b)
{
    const struct lanes_span *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    return left->owner < right->owner ? -1 : left->owner > right->owner;
}

/* The slices of each lane that are open where the sorted walk stands, outermost first; and a tree over the lanes, so
 * that the first with room is found in a logarithmic number of steps: its leaves are the ends of the innermost slices,
 * each inner node has the least and the most of those below it. */
struct open_lanes {
    ARRAY(struct open_lane {
        ARRAY(uint64_t) ends;
        uint32_t owner; /* of what is open */
    })
    lanes;
    struct lane_ends {
        uint64_t least; /* of an empty lane 0, of a lane that is not there the most of all */
        uint64_t most;  /* 0, unless slices may lie within one another */
    } * tree;           /* from 1 on; those below node n are 2n and 2n + 1 */
    size_t leaves;
};

static void open_lanes_release(struct open_lanes *open)
{
    for (size_t i = 0; i < open->lanes.count; i++)
        array_release(&open->lanes.items[i].ends);
    array_release(&open->lanes);
    free(open->tree);
}

static void join_ends(struct lane_ends *tree, size_t node)
{
    const struct lane_ends *left = &tree[2 * node], *right = left + 1;
    tree[node].least = left->least < right->least ? left->least : right->least;
    tree[node].most = left->most > right->most ? left->most : right->most;
}

static int add_leaves(struct open_lanes *open)
{
    size_t leaves = open->leaves ? 2 * open->leaves : 1;
    struct lane_ends *tree = malloc(2 * leaves * sizeof(*tree));
    if (!tree)
        return -1;
    for (size_t i = 0; i < leaves; i++)
        tree[leaves + i] = i < open->leaves ? open->tree[open->leaves + i] : (struct lane_ends){.least = UINT64_MAX};
    for (size_t node = leaves; node-- > 1;)
        join_ends(tree, node);
    free(open->tree);
    open->tree = tree;
    open->leaves = leaves;
    return 0;
}

static void update_leaf(struct open_lanes *open, enum lanes_rule rule, size_t lane)
{
    const struct open_lane *one = &open->lanes.items[lane];
    uint64_t end = one->ends.count ? one->ends.items[one->ends.count - 1] : 0;
    size_t node = open->leaves + lane;
    open->tree[node] = (struct lane_ends){.least = end, .most = rule == LANES_NEST ? end : 0};
    while ((node /= 2) > 0)
        join_ends(open->tree, node);
}

/* Whether the lane is empty where SPAN begins. */
static bool is_empty(struct open_lane *lane, const struct lanes_span *span)
{
    while (lane->ends.count && lane->ends.items[lane->ends.count - 1] <= span->start)
        lane->ends.count--;
    return lane->ends.count == 0;
}

/* Whether what is innermost there encloses it. */
static bool encloses(struct open_lane *lane, const struct lanes_span *span)
{
    return !is_empty(lane, span) && lane->owner == span->owner && lane->ends.items[lane->ends.count - 1] >= span->end;
}

/* The first lane where something has ended by the START of a slice, or lasts until its END; how many there are: none.
 */
static size_t find_ends(const struct open_lanes *open, uint64_t start, uint64_t end)
{
    size_t node = 1;
    if (open->leaves == 0 || (open->tree[node].least > start && open->tree[node].most < end))
        return open->lanes.count;
    while (node < open->leaves) {
        node *= 2;
        node += open->tree[node].least > start && open->tree[node].most < end;
    }
    return node - open->leaves;
}

/* The first lane that has room. What lies within something of its owner's stays with it. */
static size_t find_lane(struct open_lanes *open, enum lanes_rule rule, const struct lanes_span *span)
{
    for (size_t i = 0; rule == LANES_OWN && i < open->lanes.count; i++)
        if (encloses(&open->lanes.items[i], span))
            return i;
    for (;;) {
        size_t i = find_ends(open, span->start, rule == LANES_NEST ? span->end : UINT64_MAX);
        if (i == open->lanes.count || is_empty(&open->lanes.items[i], span) ||
            (rule == LANES_NEST && encloses(&open->lanes.items[i], span)))
            return i;
        update_leaf(open, rule, i); /* something has ended there, but not all */
    }
}

static int place(struct open_lanes *open, enum lanes_rule rule, struct lanes_span *span)
{
    size_t i = find_lane(open, rule, span);
    if (i == open->lanes.count && (!array_push(&open->lanes) || (i == open->leaves && add_leaves(open) != 0)))
        return -1;
    open->lanes.items[i].owner = span->owner;
    uint64_t *end = array_push(&open->lanes.items[i].ends);
    if (!end)
        return -1;
    *end = span->end;
    update_leaf(open, rule, i);
    span->lane = (uint32_t)i & INT32_MAX;
    return 0;
}

static void keep_displaced(struct lanes *lanes)
{
    size_t kept = 0;
    for (size_t i = 0; i < lanes->spans.count && lanes->count > 1; i++) {
        if (lanes->spans.items[i].lane != 0)
            lanes->spans.items[kept++] = lanes->spans.items[i];
        if (i % REST_SPANS == 0)
            file_vector_evict(&lanes->spans);
    }
    lanes->spans.count = kept;
    if (kept == 0)
        file_vector_release(&lanes->spans);
}

int lanes_assign(struct lanes *lanes)
{
    if (lanes->spans.count == 0)
        return 0;
    if (file_vector_sort(&lanes->spans, outer_first) != 0)
        return error_no_memory("the order of rows");
    struct open_lanes open = {0};
    int result = 0;
    for (size_t i = 0; i < lanes->spans.count && result == 0; i++) {
        result = place(&open, lanes->rule, &lanes->spans.items[i]);
        if (i % REST_SPANS == 0)
            file_vector_evict(&lanes->spans);
    }
    if (open.lanes.count > 0)
        lanes->count = (uint32_t)open.lanes.count;
    open_lanes_release(&open);
    keep_displaced(lanes);
    return result == 0 ? 0 : error_no_memory("the order of rows");
}

uint32_t lanes_take(struct lanes *lanes, uint64_t start, uint64_t end)
{
    return lanes_take_own(lanes, start, end, 0);
}

uint32_t lanes_take_own(struct lanes *lanes, uint64_t start, uint64_t end, uint32_t owner)
{
    struct lanes_span wanted = {.start = start, .end = end, .owner = owner};
    size_t low = 0, high = lanes->spans.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (outer_first(&lanes->spans.items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < lanes->spans.count && outer_first(&lanes->spans.items[low], &wanted) == 0; low++) {
        struct lanes_span *span = &lanes->spans.items[low];
        if (lanes->rule != LANES_FOLLOW)
            return span->lane; /* equal slices enclose one another: one lane has them all */
        if (!span->taken) {
            span->taken = 1;
            return span->lane;
        }
    }
    return 0;
}
