#include "hazards.h"

#include <inttypes.h>
#include <stdio.h>

#define LEGACY ((struct CUstream_st *)1)
#define PER_THREAD ((struct CUstream_st *)2)

enum { PLACE_TEXT_MAX = 400, LINE_MAX_BYTES = 1024 };

/* How a kind is called, and how the second place stands to the first. */
static const struct {
    const char *name, *relation;
} kinds[] = {
    [FINDING_RACE] = {"race", "and does not wait for"},
    [FINDING_FREED] = {"use after free", "after"},
    [FINDING_FREED_RACE] = {"race with free", "and nothing orders it and"},
    [FINDING_NOT_ALLOCATED] = {"use before allocation", "and does not wait for"},
    [FINDING_VOID] = {"wait for nothing", ""},
};

static const struct {
    const char *noun, *verb;
} whats[] = {
#define WHAT(name, noun, verb) [PLACE_##name] = {noun, verb},
    PLACE_WHATS(WHAT)
#undef WHAT
};

static void stream_text(char *text, size_t size, const struct place *place)
{
    bool legacy = place->stream == NULL || place->stream == LEGACY, known = place->stream_id != GPUTRACE_NO_STREAM;
    if (!place->in_stream)
        snprintf(text, size, " by thread %u", place->thread);
    else if (known)
        snprintf(text, size, " in stream %u%s", place->stream_id, legacy ? " (default)" : "");
    else if (legacy)
        snprintf(text, size, " in the default stream");
    else if (place->stream == PER_THREAD)
        snprintf(text, size, " in the default stream of thread %u", place->thread);
    else
        snprintf(text, size, " in stream %p", (void *)place->stream);
}

/* "copy (cuMemcpyHtoDAsync_v2) in stream 13 writes 4096 bytes at 0x7f0000000000, at 12.345678 ms" */
static void place_text(char *text, size_t size, const struct place *place, uint64_t start)
{
    char stream[64], object[64];
    double ms = place->time > start ? (double)(place->time - start) / 1e6 : 0;
    stream_text(stream, sizeof(stream), place);
    if (place->what == PLACE_WAIT)
        snprintf(object, sizeof(object), "event 0x%" PRIx64, place->address);
    else
        snprintf(object, sizeof(object), "%" PRIu64 " bytes at 0x%" PRIx64, place->bytes, place->address);
    snprintf(text, size, "%s (%s)%s %s %s, at %.6f ms", whats[place->what].noun,
             place->function ? place->function : "gputrace_access", stream, whats[place->what].verb, object, ms);
}

static void tell(const struct reports *reports, const struct gputrace_host *host, const struct finding *finding)
{
    char first[PLACE_TEXT_MAX], second[PLACE_TEXT_MAX], line[LINE_MAX_BYTES], name[80];
    const char *kind = kinds[finding->kind].name, *relation = kinds[finding->kind].relation;
    uint32_t number = reports->count;
    place_text(first, sizeof(first), &finding->first, reports->start);
    if (finding->kind == FINDING_VOID) {
        gputrace_instant(host, kind, finding->first.time, first);
        snprintf(line, sizeof(line), "#%u %s: %s, and nobody ever records it", number, kind, first);
        gputrace_line(host, finding->first.stack, line);
        return;
    }
    place_text(second, sizeof(second), &finding->second, reports->start);
    snprintf(name, sizeof(name), "%s: %s, %s", kind, whats[finding->second.what].noun, whats[finding->first.what].noun);
    snprintf(line, sizeof(line), "#%u %s, %s %s", number, second, relation, first);
    gputrace_instant(host, name, finding->second.time, line);
    snprintf(line, sizeof(line), "#%u %s: %s, %s", number, kind, second, relation);
    gputrace_line(host, finding->second.stack, line);
    snprintf(line, sizeof(line), "#%u … %s", number, first);
    gputrace_line(host, finding->first.stack, line);
}

/* Without stacks places differ by their streams. */
static bool is_same_place(const struct place *a, const struct place *b)
{
    return a->what == b->what && a->function == b->function && a->stack == b->stack &&
           (a->stack || a->stream_id == b->stream_id);
}

static bool is_same(const struct finding *a, const struct finding *b)
{
    return a->kind == b->kind && is_same_place(&a->first, &b->first) && is_same_place(&a->second, &b->second);
}

void reports_add(struct reports *reports, const struct gputrace_host *host, const struct finding *finding)
{
    for (uint32_t i = 0; i < reports->count; i++)
        if (is_same(&reports->list[i].finding, finding)) {
            reports->list[i].times++;
            return;
        }
    if (!reports->list)
        reports->list = calloc(REPORTS_MAX, sizeof(*reports->list));
    if (!reports->list || reports->count == REPORTS_MAX) {
        reports->more++;
        return;
    }
    reports->list[reports->count++] = (struct report){.finding = *finding, .times = 1};
    if (reports->count <= reports->top)
        tell(reports, host, finding);
}

/* " (#1 17 times, #3 2 times)" of those that are printed. */
static void times_text(const struct reports *reports, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < reports->count && i < reports->top && used + 40 < size; i++)
        if (reports->list[i].times > 1)
            used += (size_t)snprintf(text + used, size - used, "%s#%u %" PRIu64 " times", used ? ", " : " (", i + 1,
                                     reports->list[i].times);
    if (used)
        snprintf(text + used, size - used, ")");
}

static const char *ending(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void reports_end(struct reports *reports, const struct gputrace_host *host, const struct judged *judged)
{
    char line[LINE_MAX_BYTES], times[256], found[320] = "nothing found";
    times_text(reports, times, sizeof(times));
    if (reports->count)
        snprintf(found, sizeof(found), "%u hazard%s found%s", reports->count, ending(reports->count), times);
    snprintf(line, sizeof(line), "%s in %" PRIu64 " operation%s on %" PRIu64 " stream%s", found, judged->operations,
             ending(judged->operations), judged->streams, ending(judged->streams));
    gputrace_line(host, 0, line);
    if (reports->count > reports->top || reports->more) {
        uint32_t reported = reports->count < reports->top ? reports->count : reports->top;
        snprintf(line, sizeof(line), "%u of them are listed above%s; top=N lists more", reported,
                 reports->more ? ", and there were more than are kept apart" : "");
        gputrace_line(host, 0, line);
    }
    if (judged->unjudged) {
        snprintf(line, sizeof(line),
                 "%" PRIu64 " more operation%s not judged: graphs, functions of the host, waited values or events of "
                 "other processes may order %s",
                 judged->unjudged, judged->unjudged == 1 ? " was" : "s were", judged->unjudged == 1 ? "it" : "them");
        gputrace_line(host, 0, line);
    }
    if (judged->forgotten) {
        snprintf(line, sizeof(line), "%" PRIu64 " use%s of memory had to be forgotten early: hazards may be missed",
                 judged->forgotten, ending(judged->forgotten));
        gputrace_line(host, 0, line);
    }
    if (judged->incomplete)
        gputrace_line(host, 0, "there was not enough memory for everything: hazards may be missed");
}
