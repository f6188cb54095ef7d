/*
 * What the user wanted to see and what never came: recording that never began, NVTX of domains that nobody used. The
 * sentence says what was waited for and what was seen instead, for the metadata and for the last line of a run.
 */
#include <string.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/log.h"
#include "trace/build/conversion.h"

/* More names than these are not listed; the library does not note more ranges of a process either. */
#define NAMES_SHOWN 8

int see_seen(struct conversion *conversion, const struct event *event)
{
    struct missed *missed = &conversion->missed;
    if (event->seen == SPOOL_SEEN_START)
        missed->started_outside = true;
    if (event->seen != SPOOL_SEEN_RANGE && event->seen != SPOOL_SEEN_DOMAIN)
        return 0;
    struct interner *names = event->seen == SPOOL_SEEN_RANGE ? &missed->ranges : &missed->domains;
    uint32_t number = intern(names, event->text, event->text_length);
    return number == INTERN_NO_MEMORY ? error_no_memory("names of NVTX ranges") : 0;
}

void release_missed(struct missed *missed)
{
    interner_release(&missed->ranges);
    interner_release(&missed->domains);
    sink_release(&missed->text);
}

/* --- parts of sentences --- */

static void put_time(struct sink *text, uint64_t ns)
{
    if (ns < NS_PER_S - NS_PER_MS / 2) /* else it would be 1e+03 ms */
        sink_format(text, "%.3g ms", (double)ns / (double)NS_PER_MS);
    else
        sink_format(text, ns % NS_PER_S < NS_PER_S / 20 ? "%.0f s" : "%.1f s", (double)ns / (double)NS_PER_S);
}

static void put_option(struct sink *text, const char *option, uint64_t ns)
{
    sink_format(text, "--%s=", option);
    put_time(text, ns);
}

static void put_seen(struct sink *text, const struct interner *names)
{
    sink_text(text, names->count ? "; seen: " : "; none was seen");
    for (uint32_t i = 0; i < names->count && i < NAMES_SHOWN; i++) {
        const struct interned *name = interner_at(names, i);
        sink_text(text, i ? ", " : "");
        sink_bytes(text, name->text, name->length);
    }
    if (names->count >= NAMES_SHOWN)
        sink_text(text, ", …");
}

/* --- what was asked for --- */

static bool any_began(const struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (windows_any_on(&conversion_process(conversion, i)->windows))
            return true;
    return false;
}

static bool any_cuda(const struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (conversion_process(conversion, i)->file.header.cupti_version != 0)
            return true;
    return false;
}

/* Whether NVTX of a domain that the user wants was there. */
static bool any_wanted_nvtx(const struct conversion *conversion)
{
    bool any = conversion->missed.ranges.count > 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        any = any || process->nvtx_wanted || process->nvtx.domains.count > 0;
    }
    return any;
}

/* Options of the run; NULL or 0: not given. */
struct asked {
    const char *range, *domains;
    uint64_t delay, duration; /* ns */
};

static const char *range_asked_for(const struct session_note *session)
{
    const char *range = session_note_text(session, "capture_range");
    return range && strcmp(range, "none") != 0 ? range : NULL;
}

static bool is_profiler(const char *range)
{
    return range && strcmp(range, "cudaProfilerApi") == 0;
}

static bool is_nvtx(const char *range)
{
    return range && strncmp(range, "nvtx:", 5) == 0;
}

/* --- sentences --- */

/* The time in which the program could be recorded, or all other time. */
static void put_window(struct sink *text, uint64_t delay, uint64_t duration, bool inside)
{
    if (delay && duration) {
        sink_text(text, inside ? "within " : "outside of ");
        put_option(text, "duration", duration);
        sink_text(text, " after ");
        put_option(text, "delay", delay);
        return;
    }
    sink_text(text, inside == (delay > 0) ? "after " : "before ");
    put_option(text, delay ? "delay" : "duration", delay ? delay : duration);
    sink_text(text, " had passed");
}

static void put_too_short(struct sink *text, uint64_t ran, uint64_t delay)
{
    sink_text(text, "the program ended after ");
    put_time(text, ran);
    sink_text(text, ", before ");
    put_option(text, "delay", delay);
    sink_text(text, " had passed");
}

static void put_range(const struct conversion *conversion, struct sink *text, const char *range)
{
    bool outside = conversion->missed.started_outside;
    const char *name = range + 5, *at = is_nvtx(range) ? strrchr(name, '@') : NULL;
    if (is_profiler(range) && !any_cuda(conversion)) {
        sink_text(text, "cudaProfilerStart was not seen, as no process used CUDA");
    } else if (!is_nvtx(range)) {
        sink_text(text, is_profiler(range) ? "cudaProfilerStart" : "gputrace_start");
        sink_text(text, outside ? " was called only " : " was never called");
    } else {
        sink_format(text, "%s NVTX range '%.*s' was opened", outside ? "the" : "no",
                    (int)(at ? (size_t)(at - name) : strlen(name)), name);
        if (at)
            sink_format(text, " in domain '%s'", at + 1);
        if (outside)
            sink_text(text, " only ");
        else
            put_seen(text, &conversion->missed.ranges);
    }
}

/* Whether recording waited for something that never came. Nobody knows where a process could not be watched. */
static bool waited_in_vain(const struct conversion *conversion, const struct asked *asked)
{
    bool blind =
        conversion->losses.unrecorded > 0 || (conversion->losses.cuda_unrecorded > 0 && is_profiler(asked->range));
    return (asked->range || asked->delay || asked->duration) && !any_began(conversion) && !blind;
}

static void put_capture(const struct conversion *conversion, struct sink *text, const struct asked *asked)
{
    uint64_t ran = conversion->options->ran;
    sink_text(text, "nothing was recorded: ");
    if (ran > 0 && ran < asked->delay) {
        put_too_short(text, ran, asked->delay);
    } else if (asked->range) {
        put_range(conversion, text, asked->range);
        if (conversion->missed.started_outside)
            put_window(text, asked->delay, asked->duration, false);
    } else {
        sink_text(text, "no process used CUDA or NVTX ");
        put_window(text, asked->delay, asked->duration, true);
    }
}

/* Whether the program has none of the domains that were listed, as far as it was recorded. */
static bool lacks_domains(const struct conversion *conversion, const struct asked *asked)
{
    return asked->domains && conversion->losses.unrecorded == 0 && !any_wanted_nvtx(conversion) &&
           (any_began(conversion) || is_nvtx(asked->range));
}

int find_missed(struct conversion *conversion)
{
    const struct session_note *session = &conversion->session;
    struct missed *missed = &conversion->missed;
    struct asked asked = {.range = range_asked_for(session),
                          .domains = session_note_text(session, "nvtx_domains"),
                          .delay = session_note_number(session, "delay"),
                          .duration = session_note_number(session, "duration")};
    sink_init_memory(&missed->text);
    missed->all = waited_in_vain(conversion, &asked);
    if (missed->all)
        put_capture(conversion, &missed->text, &asked);
    if (lacks_domains(conversion, &asked)) {
        sink_format(&missed->text, "%sno NVTX domain of --nvtx-domains=%s was used", missed->all ? "; " : "",
                    asked.domains);
        put_seen(&missed->text, &missed->domains);
    }
    sink_char(&missed->text, '\0');
    return sink_finish(&missed->text) == 0 ? 0 : error_no_memory("what was not recorded");
}

void put_missed(const struct conversion *conversion, struct json_out *json)
{
    if (conversion->missed.text.length <= 1)
        return;
    json_key(json, "missed");
    json_string(json, conversion->missed.text.data);
}
