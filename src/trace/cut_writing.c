/*
 * The second reading: what is in the part goes to the sink that writes.
 */
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/log.h"
#include "common/lookup.h"
#include "trace/cut_parts.h"

void cut_describe(const struct filter_options *options, int64_t from, int64_t to, uint64_t length, struct buffer *out)
{
    struct json_out json;
    json_out_init(&json, out, false);
    json_begin_object(&json);
    json_put_i64(&json, "from_ns", from);
    json_put_i64(&json, "to_ns", to);
    json_put_u64(&json, "of_ns", length);
    if (options->range)
        json_put_text(&json, "range", options->range);
#define PUT(word, ...)       \
    if (options->word.given) \
        json_put_i64(&json, #word, options->word.number);
    FILTER_NUMBERS(PUT)
#undef PUT
    if (options->kernel)
        json_put_text(&json, "kernel", options->kernel);
    json_end(&json);
}

static void write_begin(struct sink *sink, uint64_t base)
{
    struct cut *cut = cut_of(sink);
    struct buffer text;
    buffer_init_memory(&text);
    int64_t first = cut->program.first, last = cut->program.last;
    cut_describe(cut->options, cut->from > first ? cut->from - first : 0, (cut->to < last ? cut->to : last) - first,
                 (uint64_t)(last - first), &text);
    cut->selection.no_memory |= text.failure != 0;
    if (!text.failure)
        cut->whole->format->metadata(cut->whole, CUT_KEY, text.data, text.length);
    buffer_release(&text);
    sink->base = base;
    cut->whole->format->begin(cut->whole, base);
}

/* Whether a row has a name in the part: its events decide, or what is said of a row without events. */
static bool has_name(const struct cut *cut, uint32_t pid)
{
    const uint64_t *kept = map_get(&cut->rows, pid);
    return kept ? *kept : selection_has_row(&cut->selection, selection_id(pid));
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    struct sink *whole = cut_of(sink)->whole;
    if (has_name(cut_of(sink), process->row.pid))
        whole->format->process(whole, process);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    struct sink *whole = cut_of(sink)->whole;
    if (has_name(cut_of(sink), thread->row.pid))
        whole->format->thread(whole, thread);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = cut_selects_event(cut, 'X', slice) && cut_touches(cut, slice->start, slice->end);
    if (cut->slice_kept)
        cut->whole->format->slice(cut->whole, slice);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = false;
    if (cut_selects_event(cut, 'i', instant) && cut_touches(cut, instant->start, instant->start))
        cut->whole->format->instant(cut->whole, instant);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = false;
    const struct slice begin = cut_async_begin(slice);
    if (cut_selects_event(cut, 'b', &begin) && cut_touches(cut, slice->start, slice->end))
        cut->whole->format->async(cut->whole, slice);
}

static void write_flow(struct sink *sink, const struct flow *flow)
{
    struct cut *cut = cut_of(sink);
    if (cut->slice_kept && flow->category != CATEGORY_FWDBWD && id_set_has(&cut->kept, flow->id))
        cut->whole->format->flow(cut->whole, flow);
}

/* --- counters --- */

/* Keeps a copy of COUNTER, with its name and values. */
static void keep(struct cut *cut, struct cut_counter *kept, const struct counter *counter)
{
    size_t size = counter->name.length + 1;
    for (size_t i = 0; i < counter->value_count; i++)
        size += counter->values[i].length;
    char *texts = realloc(kept->texts, size), *at = texts;
    kept->texts = texts ? texts : kept->texts;
    struct counter_value *values = realloc(kept->values, (counter->value_count + 1) * sizeof(*values));
    kept->values = values ? values : kept->values;
    if (!texts || !values) {
        cut->selection.no_memory = true;
        return;
    }
    kept->counter = *counter;
    kept->counter.name = name_passing(at, counter->name.length);
    at = mempcpy(at, counter->name.text, counter->name.length);
    for (size_t i = 0; i < counter->value_count; i++) {
        values[i] = counter->values[i];
        values[i].name = at;
        at = mempcpy(at, counter->values[i].name, counter->values[i].length);
    }
    kept->counter.values = values;
    kept->held = true;
}

static const struct window *window_behind(const struct cut *cut, const struct cut_counter *kept)
{
    return windows_next(&cut->windows, (int64_t)kept->counter.time);
}

static void write_kept(struct cut *cut, struct cut_counter *kept)
{
    const struct window *window = kept->held ? window_behind(cut, kept) : NULL;
    kept->held = false;
    if (!window || kept->given == (uint64_t)window->start)
        return;
    kept->counter.time = (uint64_t)window->start;
    cut->whole->format->counter(cut->whole, &kept->counter);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    struct cut *cut = cut_of(sink);
    cut->slice_kept = false;
    const struct window *next = windows_next(&cut->windows, (int64_t)counter->time);
    if (!next || !selection_has_row(&cut->selection, selection_id(counter->pid)))
        return;
    uint64_t key[] = {counter->pid, hash_bytes(counter->name.text, counter->name.length)};
    struct cut_counter *kept = PUT_ITEM(&cut->counters, &cut->counter_of_name, hash_bytes(key, sizeof(key)));
    if (!kept) {
        cut->selection.no_memory = true;
        return;
    }
    bool inside = (int64_t)counter->time >= next->start, same = kept->held && window_behind(cut, kept) == next;
    if (inside) {
        kept->given = (int64_t)counter->time == next->start ? counter->time : kept->given;
        write_kept(cut, kept);
        cut->whole->format->counter(cut->whole, counter);
    } else if (!same || counter->time >= kept->counter.time) {
        if (!same)
            write_kept(cut, kept);
        keep(cut, kept, counter);
    }
}

void cut_write_rest(struct cut *cut)
{
    for (size_t i = 0; i < cut->counters.count; i++)
        write_kept(cut, &cut->counters.items[i]);
}

static void write_finish(struct sink *sink)
{
    struct cut *cut = cut_of(sink);
    cut_write_rest(cut);
    cut->whole->format->finish(cut->whole);
}

static const struct sink_format writing = {
    .piece_scale = 1,
    .metadata = cut_write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = write_flow,
    .finish = write_finish,
};

struct sink *cut_writing(struct cut *cut, struct sink *whole)
{
    cut->format = writing;
    cut->format.name = whole->format->name;
    cut->whole = whole;
    sink_init(&cut->sink, &cut->format, whole->buffer);
    return &cut->sink;
}

int cut_written(const struct cut *cut)
{
    return cut->selection.no_memory ? error_no_memory("the trace's events") : 0;
}
