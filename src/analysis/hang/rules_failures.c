/*
 * Rules about failures: hangs, crashes, lost records, failed calls, memory that is freed twice or never, and what
 * plugins reported. Their findings have no cost in time.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/settings.h"
#include "analysis/engine/heap.h"
#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/trace_known.h"
#include "analysis/selection/filter.h"
#include "analysis/hang/hang_table.h"
#include "trace/frames.h"
#include "trace/spool/cupti.h"

/* --- ranks that wait for one another for ever --- */

static int hang_find(void *state, struct findings *findings)
{
    const struct hangs *hangs = hangs_found(findings->trace);
    const struct hang *hang = hangs ? hang_worth_finding(hangs) : NULL;
    struct finding_place place = place_none();
    if (!hang)
        return hangs ? 0 : -1;
    place.time = hang->since;
    place.until = hang->since == FIELD_ABSENT ? FIELD_ABSENT : hang->since + hang->waited;
    struct finding *finding = finding_add(findings, 0, 0, (int64_t)hang->counts[HANG_WAITS], &place);
    return finding ? hang_write_finding(finding->text, finding->advice, hangs, hang) : 0;
}

const struct rule rule_hang = {
    .id = "hang",
    .advice = "All ranks of a communicator must call the same operations, with the same sizes, in the same order.",
    .section = "hang",
    .without_cost = true,
    .urgent = 3,
    .find = hang_find,
};

/* --- processes that did not end by exit --- */

static int crashed_find(void *state, struct findings *findings)
{
    const struct trace *trace = findings->trace;
    if (trace->crashes.count == 0)
        return 0;
    const struct trace_crash *crash = &trace->crashes.items[0];
    int64_t died = INT64_MAX;
    for (size_t i = 0; i < trace->crashes.count; i++) {
        /* The process that died first is taken for the cause of the others. */
        const struct trace_crash *one = &trace->crashes.items[i];
        int64_t time = one->time != FIELD_ABSENT ? one->time : one->alive;
        if (time == FIELD_ABSENT || time >= died)
            continue;
        crash = one;
        died = time;
    }
    struct finding_place place = place_none();
    place.time = crash->time;
    place.stack = crash->stack;
    struct finding *finding = finding_add(findings, 0, 0, (int64_t)trace->crashes.count, &place);
    if (!finding)
        return 0;
    const char *signal = trace_text(trace, crash->words != EVENT_NO_TEXT ? crash->words : trace->ending);
    finding_format(finding, "Process %" PRId64 " %s%s%s%s", crash->pid, trace_text(trace, crash->state),
                   *signal ? ": " : "", signal, trace->crashes.count > 1 ? ", and others after it" : "");
    size_t length = strlen(finding->text);
    if (trace->counts[CATEGORY_GPU_IN_FLIGHT] > 0)
        snprintf(finding->text + length, sizeof(finding->text) - length, "; %s GPU operation%s had not finished",
                 amount_count((int64_t)trace->counts[CATEGORY_GPU_IN_FLIGHT]).text,
                 amount_word((int64_t)trace->counts[CATEGORY_GPU_IN_FLIGHT], "", "s"));
    return 0;
}

const struct rule rule_crashed = {
    .id = "crashed",
    .advice = "See the last calls and the operations in flight. compute-sanitizer finds illegal accesses of kernels.",
    .section = "crashes",
    .without_cost = true,
    .urgent = 2,
    .find = crashed_find,
};

/* --- records that are known to be missing --- */

static int lost_find(void *state, struct findings *findings)
{
    const struct trace *trace = findings->trace;
    int64_t count = 0;
    const struct trace_loss *largest = NULL;
    for (size_t i = 0; i < trace->losses.count; i++) {
        const struct trace_loss *loss = &trace->losses.items[i];
        const char *word = trace_text(trace, loss->name);
        /* Cut texts and stacks do not change sums, and operations are always in flight when a program crashes. */
        if (strcmp(word, "cut_texts") == 0 || strcmp(word, "cut_names") == 0 || strcmp(word, "cut_stacks") == 0 ||
            (trace->crashes.count > 0 && strcmp(word, "in_flight") == 0))
            continue;
        count = sum_of(count, loss->count);
        if (!largest || loss->count > largest->count)
            largest = loss;
    }
    if (!largest)
        return 0;
    struct finding_name name = finding_name(trace, largest->name);
    for (char *at = name.text; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    return finding_format(finding_add(findings, 0, 0, count, NULL),
                          "%s record%s lost or doubtful%s \"%s\": sums may be too small, and findings may be missing",
                          amount_count(count).text, count == 1 ? " is" : "s are", count == 1 ? "," : ", most of them",
                          name.text);
}

const struct rule rule_lost_records = {
    .id = "lost-records",
    .advice = "The overview lists the kinds. Record less (--trace), or a part of the run (--delay, --duration, "
              "--capture-range).",
    .section = "overview",
    .without_cost = true,
    .find = lost_find,
};

/* --- calls that failed --- */

#define FAILURES_SHOWN 3
#define ASSERTION_FAILED 710 /* cudaErrorAssert and CUDA_ERROR_ASSERT */

/* Returns the failure that follows LAST in the order of falling counts; the first if LAST is NULL. Returns NULL after
 * the last one. */
static const struct failure *next_failure(const struct failures *failures, const struct failure *last)
{
    const struct failure *next = NULL;
    for (size_t i = 0; i < failures->items.count; i++) {
        const struct failure *failure = &failures->items.items[i];
        bool after = !last || failure->count < last->count || (failure->count == last->count && failure > last);
        if (after && (!next || failure->count > next->count))
            next = failure;
    }
    return next;
}

static int failed_find(void *state, struct findings *findings)
{
    const struct failures *failures = &findings->trace->failures;
    const struct failure *failure = NULL;
    char text[3 * FINDING_NAME] = "";
    int64_t count = 0, shown = 0;
    bool asserted = false;
    struct finding_place place = place_none();
    for (size_t i = 0; i < failures->items.count; i++) {
        const struct failure *one = &failures->items.items[i];
        const struct failure_key *key = dense_map_row(&failures->keys, i);
        asserted |= key->code == ASSERTION_FAILED;
        place.time = count == 0 || one->first < place.time ? one->first : place.time;
        count += one->count;
    }
    for (int i = 0; i < FAILURES_SHOWN && (failure = next_failure(failures, failure)); i++) {
        const struct failure_key *key = dense_map_row(&failures->keys, (size_t)(failure - failures->items.items));
        const char *error = key->of_runtime ? runtime_error_name(key->code) : driver_error_name(key->code);
        char code[32];
        snprintf(code, sizeof(code), "error %" PRId64, key->code);
        bool once = failure->count == 1;
        size_t at = strlen(text);
        snprintf(text + at, sizeof(text) - at, "%s%s() %s%s with %.64s", at > 0 ? ", " : "",
                 finding_name(findings->trace, (uint32_t)key->name).text,
                 once ? "once" : amount_count(failure->count).text, once ? "" : " times",
                 error ? trace_phrase(findings->trace, error).text : code);
        shown += failure->count;
    }
    struct finding *finding = count > 0 ? finding_add(findings, 0, 0, count, &place) : NULL;
    if (asserted)
        finding_advise(finding,
                       "The assertion's file, line, block and thread are in what the program wrote to stderr.");
    return finding_format(finding, "%s%s CUDA call%s failed: %s%s", asserted ? "A kernel's assertion failed; " : "",
                          amount_count(count).text, amount_word(count, "", "s"), text,
                          shown < count ? " and others" : "");
}

const struct rule rule_failed_calls = {
    .id = "failed-calls",
    .advice = "Check the result of every call; after some errors no later call of the process works.",
    .section = "errors",
    .sources = {TRACE_API},
    .without_cost = true,
    .urgent = 1,
    .find = failed_find,
};

/* --- reports of the plugins hazards and leaks, each of which has a line that sums up --- */

/* Returns the first line of a plugin NAME that contains PART or OTHER, or EVENT_NO_TEXT. */
static uint32_t find_line(const struct trace *trace, const char *name, const char *part, const char *other)
{
    size_t line = 0;
    for (size_t i = 0; i < trace->plugins.count; i++) {
        const struct trace_plugin *plugin = &trace->plugins.items[i];
        bool named = strcmp(trace_text(trace, plugin->name), name) == 0;
        for (size_t end = line + plugin->lines; line < end; line++) {
            uint32_t number = trace->plugin_lines.items[line].text;
            const char *text = trace_text(trace, number);
            if (named && (strstr(text, part) || strstr(text, other)))
                return number;
        }
    }
    return EVENT_NO_TEXT;
}

static int add_line(struct findings *findings, uint32_t line, const char *what)
{
    struct finding *finding = line == EVENT_NO_TEXT ? NULL : finding_add(findings, 0, 0, FIELD_ABSENT, NULL);
    return finding_format(finding, "%s: %.300s", trace_phrase(findings->trace, what).text,
                          trace_text(findings->trace, line));
}

static int hazards_find(void *state, struct findings *findings)
{
    return add_line(findings, find_line(findings->trace, "hazards", "hazard found", "hazards found"),
                    "Streams use the same memory in no order");
}

const struct rule rule_hazards = {
    .id = "hazards",
    .advice = "Let one stream wait for the other: cudaEventRecord() and cudaStreamWaitEvent(). In PyTorch: "
              "tensor.record_stream() or stream.wait_stream().",
    .section = "plugins",
    .without_cost = true,
    .find = hazards_find,
};

/* --- memory that is freed twice, or never --- */

struct freed {
    struct heap heap;           /* zero before the first event */
    int64_t doubles;            /* releases of memory that was already released, which CUDA refused */
    struct finding_place first; /* the first of these releases */
};

static int freed_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct freed *freed = state;
    if (!freed->heap.strings)
        heap_init(&freed->heap, &trace->strings);
    bool refused =
        event->return_value != FIELD_ABSENT && event->return_value != 0 && event_memory(event)->fault != EVENT_NO_TEXT;
    bool twice = refused && strcmp(interned(&trace->strings, event_memory(event)->fault), "double free") == 0;
    if (twice && event->phase != HEAP_OUTSIDE && freed->doubles++ == 0) {
        freed->first = place_none();
        freed->first.time = event->start;
        freed->first.stack = event->stack;
    }
    return heap_event(&freed->heap, event);
}

static int double_find(void *state, struct findings *findings)
{
    const struct freed *freed = state;
    int64_t count = freed->doubles;
    bool one = count == 1;
    return finding_format(count > 0 ? finding_add(findings, 0, 0, count, &freed->first) : NULL,
                          "%s call%s free%s memory that was freed before", amount_count(count).text, one ? "" : "s",
                          one ? "s" : "");
}

const struct rule rule_double_free = {
    .id = "double-free",
    .advice = "Free memory once, where it is owned, and set pointers to NULL when what they point to is freed.",
    .section = "memory",
    .without_cost = true,
    .urgent = 1,
    .state_of = &rule_leaked_memory,
    .find = double_find,
};

#define QUARTERS 4

/* Returns the group of allocations that are never freed and hold the most bytes. A group that grows in each quarter of
 * the run comes first and sets *GROWS. Otherwise, its place keeps a large part of its peak although it freed more than
 * it keeps; this is not tried for Python, whose libraries keep memory until the process ends. Returns SIZE_MAX if there
 * is none. */
static size_t leaked_group(const struct heap *heap, const struct findings *findings, bool *grows)
{
    int64_t(*counts)[QUARTERS] = calloc(heap->groups.count + 1, sizeof(*counts)), most = 0;
    const struct trace *trace = findings->trace;
    size_t found = SIZE_MAX;
    bool python = false;
    for (size_t i = 0; i < trace->frames.count; i++)
        python |= trace->frames.items[i].owner == FRAME_SCRIPT || trace->frames.items[i].owner == FRAME_PYTHON_LIBRARY;
    for (size_t i = 0; counts && i < heap->lives.count; i++) {
        const struct heap_live *live = &heap->lives.items[i];
        if (live->used && live->time >= findings->from && live->time < findings->to)
            counts[live->group][(live->time - findings->from) / (findings->run / QUARTERS + 1)]++;
    }
    for (size_t i = 0; counts && i < heap->groups.count; i++) {
        const struct heap_place *place = &heap->places.items[heap->groups.items[i].place];
        int64_t bytes = heap_group_bytes(heap_group_id(heap, i), heap->groups.items[i].live);
        bool here = place->bytes >= place->peak / 100 * FINDING_LEFT_PERCENT && place->released > place->bytes;
        bool growing = true;
        for (size_t k = 0; k < QUARTERS; k++)
            growing &= counts[i][k] >= FINDING_LEAKS;
        if (growing < *grows || !(growing || (here && !python)) || (growing == *grows && bytes <= most))
            continue;
        *grows = growing;
        most = bytes;
        found = i;
    }
    free(counts);
    return found;
}

static int leaked_find(void *state, struct findings *findings)
{
    const struct heap *heap = &((struct freed *)state)->heap;
    const struct trace *trace = findings->trace;
    uint32_t line = find_line(trace, "leaks", "in all ", "in all ");
    bool grows = false, whole = strncmp(trace_text(trace, trace->ending), "exit", strlen("exit")) == 0 &&
                                trace->crashes.count == 0 && !trace->is_cut && !filter_wanted(&trace->options->filter);
    size_t group = line == EVENT_NO_TEXT && whole ? leaked_group(heap, findings, &grows) : SIZE_MAX;
    if (group == SIZE_MAX)
        return add_line(findings, line, "CUDA memory was not freed");
    const struct heap_group_id *id = heap_group_id(heap, group);
    const struct heap_place *place = &heap->places.items[heap->groups.items[group].place];
    int64_t count = heap->groups.items[group].live;
    struct finding_place where = place_none();
    where.stack = id->stack;
    struct finding *finding = finding_add(findings, 0, 0, count, &where);
    struct amount size = amount_bytes(id->size), number = amount_count(count);
    if (grows)
        return finding_format(finding,
                              "Memory grows during all of the run: %s allocations of %s are never freed, %s in all",
                              number.text, size.text, amount_bytes(heap_group_bytes(id, count)).text);
    return finding_format(finding, "%s of the peak of %s was not freed at the end, most of it %s allocation%s of %s",
                          amount_bytes(place->bytes).text, amount_bytes(place->peak).text, number.text,
                          amount_word(count, "", "s"), size.text);
}

static void freed_release(void *state)
{
    heap_release(&((struct freed *)state)->heap);
}

const struct rule rule_leaked_memory = {
    .id = "leaked-memory",
    .advice = "Free it, or keep it for the next use. Where it was allocated: gputrace run --backtrace, or the plugin "
              "leaks. In PyTorch, keep no tensors of earlier steps: add up loss.item() or loss.detach().",
    .section = "memory",
    .without_cost = true,
    .state_size = sizeof(struct freed),
    .categories = CATEGORY_BIT(CATEGORY_MEMORY),
    .event = freed_event,
    .find = leaked_find,
    .release = freed_release,
};
