/* Holds events that begin or end a slice, sorts them, and pairs those of a row with a stack. */
#include "trace/json/pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define HELD_MOST (PAIRS_OPEN_MOST + PAIRS_OPEN_MOST / 4)
#define NO_PARTNER UINT32_MAX
#define DEPTH_MOST 64 /* innermost slices that are searched for the name of an end */

void pairs_init(struct pairs *pairs, int (*pass)(void *, const char *, size_t, const char *, size_t), void *context)
{
    *pairs = (struct pairs){.pass = pass, .context = context};
    buffer_init_memory(&pairs->bytes);
}

void pairs_release(struct pairs *pairs)
{
    array_release(&pairs->events);
    array_release(&pairs->open);
    buffer_release(&pairs->bytes);
}

ORDER_BY(by_row_and_time, struct pairs_event, row, time, at)
ORDER_BY(by_place, struct pairs_event, at)

static bool is_end_of(const struct pairs_event *end, const struct pairs_event *begin)
{
    return end->row == begin->row && begin->kind == PAIRS_BEGIN && (end->name == 0 || end->name == begin->name);
}

/* Pairs END with the innermost open slice that it can end. */
static void end_slice(struct pairs *pairs, uint32_t end)
{
    struct pairs_event *events = pairs->events.items;
    size_t count = pairs->open.count, least = count > DEPTH_MOST ? count - DEPTH_MOST : 0;
    for (size_t i = count; i-- > least;) {
        uint32_t *open = &pairs->open.items[i];
        if (!is_end_of(&events[end], &events[*open]))
            continue;
        events[*open].partner = end;
        memmove(open, open + 1, (count - i - 1) * sizeof(*open));
        pairs->open.count--;
        return;
    }
    pairs->unmatched++;
}

static int find_partners(struct pairs *pairs)
{
    struct pairs_event *events = pairs->events.items;
    for (uint32_t i = 0; i < pairs->events.count; i++) {
        if (i == 0 || events[i].row != events[i - 1].row)
            pairs->open.count = 0;
        uint32_t *open = events[i].kind == PAIRS_BEGIN ? array_push(&pairs->open) : NULL;
        if (open)
            *open = i;
        else if (events[i].kind == PAIRS_BEGIN)
            return error_no_memory("slices that are begun and not ended");
        else if (events[i].kind == PAIRS_END)
            end_slice(pairs, i);
    }
    return 0;
}

static int pass(const struct pairs *pairs, const struct pairs_event *begin, const struct pairs_event *end)
{
    const char *bytes = pairs->bytes.data;
    return pairs->pass(pairs->context, bytes + begin->at, begin->size, end ? bytes + end->at : NULL,
                       end ? end->size : 0);
}

/* Keeps only the begins without an end, up to PAIRS_OPEN_MOST: the other events were passed on. */
static void keep_open(struct pairs *pairs)
{
    struct pairs_event *events = pairs->events.items;
    size_t kept = 0, bytes = 0;
    for (size_t i = 0; i < pairs->events.count; i++)
        if (events[i].kind != PAIRS_END && events[i].partner == NO_PARTNER)
            events[kept++] = events[i];
    pairs->events.count = kept;
    qsort(events, kept, sizeof(*events), by_place);
    for (kept = 0; kept < pairs->events.count; kept++) {
        if (bytes + events[kept].size + (kept + 1) * sizeof(*events) > PAIRS_OPEN_MOST)
            break;
        memmove(pairs->bytes.data + bytes, pairs->bytes.data + events[kept].at, events[kept].size);
        events[kept].at = bytes;
        bytes += events[kept].size;
    }
    pairs->too_many += pairs->events.count - kept;
    pairs->events.count = kept;
    pairs->bytes.length = bytes;
}

/* Passes on the slices with both events, enclosing slices first. LAST: also those without an end. */
static int flush(struct pairs *pairs, bool last)
{
    struct pairs_event *events = pairs->events.items;
    if (pairs->events.count > 0)
        qsort(events, pairs->events.count, sizeof(*events), by_row_and_time);
    int result = find_partners(pairs);
    for (size_t i = 0; i < pairs->events.count && result == 0; i++) {
        bool begins = events[i].kind != PAIRS_END, ended = events[i].partner != NO_PARTNER;
        if (begins && (ended || last))
            result = pass(pairs, &events[i], ended ? &events[events[i].partner] : NULL);
        pairs->unended += begins && !ended && last;
    }
    if (!last)
        keep_open(pairs);
    return result;
}

int pairs_add(struct pairs *pairs, struct pairs_event event, const char *bytes, size_t size, bool at_once)
{
    struct pairs_event *last = pairs->events.count > 0 ? &pairs->events.items[pairs->events.count - 1] : NULL;
    if (at_once && event.kind == PAIRS_END && last && is_end_of(&event, last)) {
        int result = pairs->pass(pairs->context, pairs->bytes.data + last->at, last->size, bytes, size);
        pairs->bytes.length = last->at;
        pairs->events.count--;
        return result;
    }
    if (pairs->bytes.length + size + pairs->events.count * sizeof(event) > HELD_MOST && flush(pairs, false) != 0)
        return -1;
    event.at = pairs->bytes.length;
    event.size = (uint32_t)size;
    event.partner = NO_PARTNER;
    buffer_bytes(&pairs->bytes, bytes, size);
    struct pairs_event *added = array_push(&pairs->events);
    if (!added || pairs->bytes.failure)
        return error_no_memory("slices that are begun and not ended");
    *added = event;
    return 0;
}

int pairs_finish(struct pairs *pairs, const char *path)
{
    int result = flush(pairs, true);
    if (result == 0 && pairs->unmatched > 0)
        warning("'%s': %" PRIu64 " %s no begin", path, pairs->unmatched,
                pairs->unmatched == 1 ? "end of a slice or range is left out, as it has"
                                      : "ends of slices or ranges are left out, as they have");
    if (result == 0 && pairs->unended > 0)
        warning("'%s': %" PRIu64 " %s to the end of the trace", path, pairs->unended,
                pairs->unended == 1 ? "slice or range has no end, and lasts"
                                    : "slices or ranges have no end, and last");
    if (result == 0 && pairs->too_many > 0)
        warning("'%s': %" PRIu64 " range%s left out, as more than %zu MiB of them are begun and not ended", path,
                pairs->too_many, pairs->too_many == 1 ? " is" : "s are", PAIRS_OPEN_MOST >> 20);
    return result;
}
