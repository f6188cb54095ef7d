/*
 * Writes the JSON of a chapter into memory. Texts are numbers of a list that comes last.
 */
#include "analysis/render/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/text.h"
#include "common/threads.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/trace_known.h"
#include "analysis/memory/section_memory.h"
#include "analysis/render/profile.h"
#include "analysis/engine/section.h"
#include "analysis/stacks/stacks.h"

void page_init(struct page *page)
{
    *page = (struct page){0};
    buffer_init_memory(&page->data);
    json_out_init(&page->json, &page->data, false);
}

void page_text(struct page *page, const char *text)
{
    size_t length = utf8_cut(text, strlen(text), PAGE_NAME_BYTES), before = page->strings.count;
    uint32_t number = intern(&page->strings, text, length);
    if (number == INTERN_NO_MEMORY)
        page->data.failure = ENOMEM;
    if (page->strings.count > before)
        page->string_bytes += length;
    json_u64(&page->json, number);
}

void page_put_text(struct page *page, const char *key, const char *text)
{
    json_key(&page->json, key);
    page_text(page, text);
}

void page_begin_tables(struct page *page)
{
    if (!page->has_tables)
        json_key_array(&page->json, "tables");
    page->has_tables = true;
}

void page_end(struct page *page, struct buffer *out)
{
    json_key_array(&page->json, "strings");
    for (uint32_t i = 0; i < page->strings.count; i++)
        json_string(&page->json, interned(&page->strings, i));
    json_end(&page->json);
    json_end(&page->json);
    if (page->data.failure)
        out->failure = page->data.failure;
    else {
        /* Escape "<", which could end the script element or begin a comment in it. */
        const char *at = page->data.data, *end = at + page->data.length, *next;
        buffer_text(out, "<script type=\"application/json\" class=\"chapter\">");
        for (; (next = memchr(at, '<', (size_t)(end - at))); at = next + 1) {
            buffer_bytes(out, at, (size_t)(next - at));
            buffer_text(out, "\\u003c");
        }
        buffer_bytes(out, at, (size_t)(end - at));
        buffer_text(out, "</script>\n");
    }
    buffer_release(&page->data);
    interner_release(&page->strings);
}

/* --- charts --- */

#define KERNELS 20
#define BINS 40
#define FLAME_NODES 1500
#define FLAME_DEPTH 60
#define FLAME_PART 1000 /* nodes with less than 1/1000 of the time are left out */

/* --- use over time --- */

static void write_line(struct page *page, const struct profile *profile, const struct profile_line *line,
                       bool is_stream)
{
    const struct trace *trace = profile->trace;
    size_t device = is_stream ? trace->streams.items[line->index].device : line->index;
    uint32_t name = trace->devices.items[device].name;
    struct json_out *json = &page->json;
    json_begin_object(json);
    json_put_i64(json, "gpu", trace_device_id(trace, device));
    if (is_stream)
        json_put_i64(json, "stream", trace_stream_id(trace, line->index)->stream);
    else
        page_put_text(page, "name", trace_text(trace, name));
    json_key_array(json, "busy");
    for (unsigned use = 0; use < PROFILE_USES; use++) {
        if (line->sums[use].total == 0) {
            json_i64(json, 0);
            continue;
        }
        json_begin_array(json);
        for (size_t i = 0; i < profile->buckets; i++)
            json_i64(json, (int64_t)((double)line->busy[use][i] / (double)profile->width * 1000 + 0.5));
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

/* --- findings --- */

/* Writes a row of a window. THREAD is the name of the row's thread; NULL: the row is a stream. */
static void write_row(struct page *page, const struct profile *profile, const struct profile_window *window,
                      const struct profile_row *row, const char *thread)
{
    const struct trace *trace = profile->trace;
    struct json_out *json = &page->json;
    json_begin_object(json);
    if (thread)
        page_put_text(page, "thread", thread);
    else {
        json_put_i64(json, "gpu", trace_device_id(trace, trace->streams.items[row->index].device));
        json_put_i64(json, "stream", trace_stream_id(trace, row->index)->stream);
    }
    json_key_array(json, "ops");
    for (size_t i = 0; i < row->ops.count; i++) {
        const struct profile_op *op = &row->ops.items[i];
        json_begin_array(json);
        json_i64(json, op->start - window->from);
        json_i64(json, op->end - op->start);
        page_text(page, trace_text(trace, trace_shown(trace, op->name)));
        json_u64(json, op->use);
        json_u64(json, op->count);
        json_end(json);
    }
    json_end(json);
    json_end(json);
}

void page_window(struct page *page, const struct profile *profile, const struct profile_window *window)
{
    struct json_out *json = &page->json;
    int64_t start = profile->trace->start;
    if (!window->any) {
        json_string(json, NULL);
        return;
    }
    json_begin_object(json);
    json_put_i64(json, "from", window->from - start);
    json_put_i64(json, "to", window->to - start);
    json_put_i64(json, "at", window->at - start);
    json_put_i64(json, "until", window->until - start);
    json_key_array(json, "rows");
    if (window->calls.ops.count > 0) {
        struct table unseen = {0};
        struct cell cell = trace_thread_cell(profile->trace, &unseen, window->thread);
        write_row(page, profile, window, &window->calls,
                  cell.kind == CELL_TEXT ? table_cell_text(&unseen, &cell) : "host thread");
        table_release(&unseen);
    }
    for (size_t i = 0; i < window->row_count; i++)
        write_row(page, profile, window, &window->rows[i], NULL);
    json_end(json);
    json_end(json);
}

/* --- kernels --- */

struct kernel {
    const struct series *times;
    uint32_t name;
};

static int by_total(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    return ORDER(b->times->total, a->times->total) ?: ORDER(a->name, b->name);
}

static void write_kernel(struct page *page, const struct trace *trace, const struct kernel *kernel)
{
    struct json_out *json = &page->json;
    uint64_t counts[BINS] = {0};
    series_spread(kernel->times, counts, BINS);
    json_begin_object(json);
    page_put_text(page, "name", trace_text(trace, trace_shown(trace, kernel->name)));
    json_put_i64(json, "count", kernel->times->count);
    json_put_i64(json, "total", kernel->times->total);
    json_put_i64(json, "low", kernel->times->min);
    json_put_i64(json, "high", kernel->times->max);
    json_key_array(json, "bins");
    for (size_t i = 0; i < BINS; i++)
        json_u64(json, counts[i]);
    json_end(json);
    json_end(json);
}

/* Writes the kernels, from the tally of section_kernels, whose keys begin with a name. */
static int write_kernels(struct page *page, const struct trace *trace)
{
    const struct tally *tally = section_state(trace, REPORT_KERNELS);
    size_t count = tally ? tally->count : 0;
    struct kernel *kernels = calloc(count + 1, sizeof(*kernels));
    if (!kernels)
        return -1;
    for (size_t i = 0; i < count; i++) {
        kernels[i].times = (const void *)((const char *)tally->items + i * section_kernels.item_size);
        kernels[i].name = (uint32_t)*(const uint64_t *)dense_map_row(&tally->keys, (uint32_t)i);
    }
    qsort(kernels, count, sizeof(*kernels), by_total);
    json_key_array(&page->json, "kernels");
    for (size_t i = 0; i < count && i < KERNELS; i++)
        write_kernel(page, trace, &kernels[i]);
    json_end(&page->json);
    free(kernels);
    return 0;
}

/* --- stacks --- */

struct flame {
    const struct gpu_stacks *stacks;
    int64_t *totals;  /* by index of a node: its time with all nodes below it */
    int64_t *written; /* by index of a node: its number on the page; -1: it is left out */
    int64_t least;    /* ns; nodes with less time are left out */
    int64_t count;    /* number of nodes written so far */
};

static const char *const kind_words[] = {
    [STACK_GPU] = "GPU",   [STACK_RANGE] = "range",   [STACK_OPERATOR] = "operator", [STACK_PYTHON] = "Python function",
    [STACK_CALL] = "call", [STACK_KERNEL] = "kernel", [STACK_COPY] = "copy or set",  [STACK_OTHERS] = "others"};

static void write_node(struct page *page, const struct trace *trace, struct flame *flame, size_t index)
{
    const struct gpu_stack_node *node = &flame->stacks->nodes.items[index];
    int64_t parent = node->parent ? flame->written[node->parent - 1] : -1;
    struct json_out *json = &page->json;
    struct buffer name;
    flame->written[index] = -1;
    if ((node->parent && parent < 0) || flame->totals[index] < flame->least || flame->count == FLAME_NODES ||
        node->depth > FLAME_DEPTH)
        return;
    flame->written[index] = flame->count++;
    buffer_init_memory(&name);
    gpu_stacks_put_name(&name, trace, node);
    buffer_char(&name, '\0');
    json_begin_array(json);
    json_i64(json, parent);
    page_text(page, kind_words[node->kind]);
    page_text(page, name.failure ? "" : name.data);
    json_i64(json, flame->totals[index]);
    json_u64(json, node->count);
    json_end(json);
    buffer_release(&name);
}

static int write_flame(struct page *page, const struct trace *trace, const struct gpu_stacks *stacks)
{
    size_t count = stacks->nodes.count;
    int64_t whole = 0;
    struct flame flame = {.stacks = stacks,
                          .totals = calloc(count + 1, sizeof(*flame.totals)),
                          .written = calloc(count + 1, sizeof(*flame.written))};
    int status = flame.totals && flame.written ? 0 : -1;
    for (size_t i = status == 0 ? count : 0; i-- > 0;) {
        const struct gpu_stack_node *node = &stacks->nodes.items[i];
        sum_add(&flame.totals[i], node->ns);
        sum_add(node->parent ? &flame.totals[node->parent - 1] : &whole, flame.totals[i]);
    }
    flame.least = whole / FLAME_PART;
    json_key_array(&page->json, "flame");
    for (size_t i = 0; i < count && status == 0; i++)
        write_node(page, trace, &flame, i);
    json_end(&page->json);
    free(flame.totals);
    free(flame.written);
    return status;
}

/* --- memory --- */

static void write_memory(struct page *page, const struct trace *trace)
{
    const struct levels *levels;
    struct buffer name;
    int64_t peak;
    buffer_init_memory(&name);
    json_key_array(&page->json, "memory");
    for (size_t i = 0; (levels = memory_levels(trace, i, &name, &peak)); i++) {
        buffer_char(&name, '\0');
        json_begin_object(&page->json);
        page_put_text(page, "name", name.failure ? "" : name.data);
        json_put_i64(&page->json, "peak", peak);
        struct json_out *json = &page->json;
        json_key_array(json, "points");
        for (int64_t number = levels->first; levels->width > 0 && number <= levels->last; number++) {
            const struct level *level = levels_at(levels, number);
            if (!level->any)
                continue;
            json_begin_array(json);
            json_i64(json, number * levels->width - trace->start);
            json_i64(json, level->most);
            json_i64(json, level->end);
            json_end(json);
        }
        json_end(json);
        json_end(&page->json);
        name.length = 0;
    }
    json_end(&page->json);
    buffer_release(&name);
}

/* --- all charts --- */

struct gathering {
    const struct trace *trace;
    struct profile profile;
    struct gpu_stacks stacks;
};

static int gather_profile(void *context)
{
    struct gathering *gathering = context;
    return profile_gather(&gathering->profile, gathering->trace, NULL);
}

static int gather_stacks(void *context)
{
    struct gathering *gathering = context;
    return gpu_stacks_gather(&gathering->stacks, gathering->trace);
}

int page_charts(struct page *page, const struct trace *trace, unsigned workers)
{
    struct gathering *gathering = calloc(1, sizeof(*gathering));
    const struct task tasks[] = {{gather_profile, gathering}, {gather_stacks, gathering}};
    if (!gathering)
        return -1;
    gathering->trace = trace;
    int status = tasks_run(tasks, sizeof(tasks) / sizeof(*tasks), workers);
    if (status == 0) {
        struct json_out *json = &page->json;
        json_key_object(json, "use");
        json_put_i64(json, "bucket", gathering->profile.width);
        json_put_u64(json, "count", gathering->profile.buckets);
        json_key_array(json, "lines");
        for (size_t i = 0; i < gathering->profile.gpus.count; i++) {
            write_line(page, &gathering->profile, &gathering->profile.gpus.items[i], false);
            for (size_t k = 0; k < gathering->profile.streams.count; k++)
                if (gathering->profile.trace->streams.items[gathering->profile.streams.items[k].index].device ==
                    gathering->profile.gpus.items[i].index)
                    write_line(page, &gathering->profile, &gathering->profile.streams.items[k], true);
        }
        json_end(json);
        json_end(json);
        json_key_array(&page->json, "windows");
        for (size_t i = 0; i < gathering->profile.window_count; i++)
            page_window(page, &gathering->profile, &gathering->profile.windows[i]);
        json_end(&page->json);
        write_memory(page, trace);
        status = write_kernels(page, trace);
    }
    if (status == 0)
        status = write_flame(page, trace, &gathering->stacks);
    profile_release(&gathering->profile);
    gpu_stacks_release(&gathering->stacks);
    free(gathering);
    return status;
}
