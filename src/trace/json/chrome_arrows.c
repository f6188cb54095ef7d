#include "trace/json/chrome_arrows.h"

#include "trace/json/chrome_put.h"

static void write_arrow(struct writer *writer, const struct arrow *arrow, const char *phase)
{
    char *at = next_event(writer, HEAD_ROOM + TAIL_ROOM);
    if (!at)
        return;
    at = put_bytes(at, phase, 10);
    at = PUT(at, "\"id\":");
    at = number_u64(at, arrow->id);
    at = put_row(at, arrow->row);
    at = put_time(writer, at, arrow->time);
    at = PUT(at, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"");
    if (phase[7] == 'f')
        at = PUT(at, ",\"bp\":\"e\"");
    *at++ = '}';
    claim(writer, at);
}

void chrome_arrow_start(struct writer *writer, const struct arrow *arrow)
{
    write_arrow(writer, arrow, "{\"ph\":\"s\",");
}

void chrome_arrow_end(struct writer *writer, const struct arrow *arrow)
{
    write_arrow(writer, arrow, "{\"ph\":\"f\",");
}

/* The slice before ends with what was claimed of the sink last, so that its closing brace is still there. */
static void bind_slice(struct writer *writer, const struct arrow *arrow, const char *direction, size_t size)
{
    struct sink *sink = writer->sink;
    if (writer->bound || arrow->bind_id == 0 || sink->failure || sink->length == 0)
        return;
    sink->length--;
    char *at = sink_reserve(sink, TAIL_ROOM);
    if (!at)
        return;
    at = PUT(at, ",\"bind_id\":");
    at = number_u64(at, arrow->bind_id);
    at = put_bytes(at, direction, size);
    claim(writer, at);
    writer->bound = true;
}

void chrome_bind_start(struct writer *writer, const struct arrow *arrow)
{
    static const char direction[] = ",\"flow_out\":true}";
    bind_slice(writer, arrow, direction, sizeof(direction) - 1);
}

void chrome_bind_end(struct writer *writer, const struct arrow *arrow)
{
    static const char direction[] = ",\"flow_in\":true}";
    bind_slice(writer, arrow, direction, sizeof(direction) - 1);
}
