#include "analysis/batch.h"

#include "analysis/event_fields.h"
#include "analysis/quick.h"
#include "analysis/scan.h"

/* Piles that one unusual piece made are not kept for the usual ones. */
#define EVENTS_KEPT 8192

void batch_release(struct batch *batch)
{
    array_release(&batch->events);
    array_release(&batch->texts);
    interner_release(&batch->strings);
    *batch = (struct batch){0};
}

static void clear(struct batch *batch)
{
    if (batch->events.capacity > EVENTS_KEPT)
        array_release(&batch->events);
    batch->events.count = batch->texts.count = 0;
    interner_release(&batch->strings);
    batch->length = 0;
    batch->after_event = false;
    batch->left_out = 0;
}

static void leave_out(struct batch *batch, size_t at, const char *expected)
{
    if (batch->left_out++ > 0)
        return;
    batch->left_out_at = at;
    batch->expected = expected;
}

/* Of an event that has been read. False: there is no memory. */
static bool keep_text(struct batch *batch, size_t at, size_t size)
{
    if (!batch->keeps_texts)
        return true;
    struct batch_text *text = array_push(&batch->texts);
    if (!text)
        return false;
    *text = (struct batch_text){at, size};
    batch->events.count = 0;
    return true;
}

/* The element at TEXT, of which *SIZE bytes are there at most: sets *SIZE to its own. False: it is not whole, or not
 * JSON, or there is no memory. */
static bool read_unusual(struct batch *batch, struct parser *parser, const char *text, size_t at, size_t *size)
{
    struct scan scan;
    struct trace_event *event = &batch->events.items[batch->events.count - 1];
    if (!scan_value(text + at, *size, &scan))
        return false;
    *size = scan.length;
    if (scan_is_arrow(text + at, &scan)) {
        batch->events.count--;
        return parser_check(parser, text + at, &scan) == PARSE_DONE && keep_text(batch, at, *size);
    }
    enum parse_result result = parser_event(parser, text + at, &scan, event);
    if (result == PARSE_DONE) {
        event_find_extent(event);
        return keep_text(batch, at, *size);
    }
    if (result == PARSE_NOT_AN_EVENT) {
        leave_out(batch, at, parser->expected);
        batch->events.count--;
        return true;
    }
    return false;
}

static bool read_element(struct batch *batch, struct parser *parser, const char *text, size_t at, size_t *size)
{
    if (!array_push(&batch->events))
        return false;
    size_t kept = batch->events.count - 1;
    switch (quick_event(text + at, parser->strings, &batch->events.items[kept], size)) {
    case QUICK_EVENT: event_find_extent(&batch->events.items[kept]); return keep_text(batch, at, *size);
    case QUICK_ARROW: batch->events.count = kept; return keep_text(batch, at, *size);
    case QUICK_NOT: break;
    }
    if (read_unusual(batch, parser, text, at, size))
        return true;
    batch->events.count = kept;
    return false;
}

void batch_read(struct batch *batch, struct parser *parser, const char *text, size_t length)
{
    clear(batch);
    parser->strings = &batch->strings;
    for (size_t at = scan_blank(text, length); at < length;) {
        size_t size = length - at;
        if (text[at] != '{' || !read_element(batch, parser, text, at, &size))
            return;
        at += size;
        batch->length = at;
        batch->after_event = true;
        at += scan_blank(text + at, length - at);
        if (at == length || text[at] != ',')
            return;
        at++;
        at += scan_blank(text + at, length - at);
        batch->length = at;
        batch->after_event = false;
    }
}
