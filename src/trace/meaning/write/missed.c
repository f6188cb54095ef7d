/*
 * What the user asked for and never came: recording that never began, NVTX of domains that nobody used. Composes a
 * sentence with what was expected and what was seen instead, for the metadata and for the last line of a run.
 */
#include "trace/meaning/write/missed.h"

#include <string.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/spool_records.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_data.h"

/* At most so many names are listed; the agent records no more ranges of a process either. */
#define NAMES_SHOWN 8

int index_seen(struct process *process, const struct event *event)
{
    const struct spool_seen *seen = event->record;
    struct missed *missed = process->conversion->missed;
    if (seen->head.flags == SPOOL_SEEN_START)
        missed->started_outside = true;
    if (seen->head.flags != SPOOL_SEEN_RANGE && seen->head.flags != SPOOL_SEEN_DOMAIN)
        return 0;
    struct interner *names = seen->head.flags == SPOOL_SEEN_RANGE ? &missed->ranges : &missed->domains;
    uint32_t number = intern(names, event->text, event->text_length);
    return number == INTERN_NO_MEMORY ? error_no_memory("names of NVTX ranges") : 0;
}

void release_missed(struct missed *missed)
{
    interner_release(&missed->ranges);
    interner_release(&missed->domains);
    buffer_release(&missed->text);
}

static void put_time(struct buffer *text, uint64_t ns)
{
    if (ns < NS_PER_S - NS_PER_MS / 2) /* more would be printed as 1e+03 ms */
        buffer_format(text, "%.3g ms", (double)ns / (double)NS_PER_MS);
    else
        buffer_format(text, ns % NS_PER_S < NS_PER_S / 20 ? "%.0f s" : "%.1f s", (double)ns / (double)NS_PER_S);
}

static void put_option(struct buffer *text, const char *option, uint64_t ns)
{
    buffer_format(text, "--%s=", option);
    put_time(text, ns);
}

static void put_seen(struct buffer *text, const struct interner *names)
{
    buffer_text(text, names->count ? "; seen: " : "; none was seen");
    for (uint32_t i = 0; i < names->count && i < NAMES_SHOWN; i++) {
        const struct interned *name = interner_at(names, i);
        buffer_text(text, i ? ", " : "");
        buffer_bytes(text, name->text, name->length);
    }
    if (names->count >= NAMES_SHOWN)
        buffer_text(text, ", …");
}

static bool any_began(const struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (capture_intervals_any_on(conversion_process(conversion, i)->capture_intervals))
            return true;
    return false;
}

/* Options of the run; NULL or 0 if they were not given. */
struct asked {
    const char *range, *domains;
    uint64_t delay, duration; /* ns */
};

static bool is_profiler(const char *range)
{
    return range && strcmp(range, "cudaProfilerApi") == 0;
}

static bool is_nvtx(const char *range)
{
    return range && strncmp(range, "nvtx:", 5) == 0;
}

/* Appends the time window in which recording was possible, INSIDE, or the time outside of it. */
static void put_window(struct buffer *text, uint64_t delay, uint64_t duration, bool inside)
{
    if (delay && duration) {
        buffer_text(text, inside ? "within " : "outside of ");
        put_option(text, "duration", duration);
        buffer_text(text, " after ");
        put_option(text, "delay", delay);
        return;
    }
    buffer_text(text, inside == (delay > 0) ? "after " : "before ");
    put_option(text, delay ? "delay" : "duration", delay ? delay : duration);
    buffer_text(text, " had passed");
}

static void put_range(const struct conversion *conversion, struct buffer *text, const char *range)
{
    bool outside = conversion->missed->started_outside;
    const char *name = range + 5, *at = is_nvtx(range) ? strrchr(name, '@') : NULL;
    bool any_cuda = false;
    for (size_t i = 0; i < conversion->processes.count; i++)
        any_cuda |= conversion_process(conversion, i)->file.header.cupti_version != 0;
    if (is_profiler(range) && !any_cuda) {
        buffer_text(text, "cudaProfilerStart was not seen, as no process used CUDA");
    } else if (!is_nvtx(range)) {
        buffer_text(text, is_profiler(range) ? "cudaProfilerStart" : "gputrace_start");
        buffer_text(text, outside ? " was called only " : " was never called");
        if (!is_profiler(range) && !outside)
            buffer_text(text, ", and nobody typed 'gputrace start'");
    } else {
        buffer_format(text, "%s NVTX range '%.*s' was opened", outside ? "the" : "no",
                      (int)(at ? (size_t)(at - name) : strlen(name)), name);
        if (at)
            buffer_format(text, " in domain '%s'", at + 1);
        if (outside)
            buffer_text(text, " only ");
        else
            put_seen(text, &conversion->missed->ranges);
    }
}

int find_missed(struct conversion *conversion)
{
    const struct session_note *session = conversion->session;
    struct missed *missed = conversion->missed;
    const char *range = session_note_text(session, "capture_range");
    struct asked asked = {.range = range && strcmp(range, "none") != 0 ? range : NULL,
                          .domains = session_note_text(session, "nvtx_domains"),
                          .delay = session_note_number(session, "delay"),
                          .duration = session_note_number(session, "duration")};
    buffer_init_memory(&missed->text);
    /* Nothing is reported if some process could not be watched: it may have done what recording waited for. */
    bool blind =
        conversion->losses.unrecorded > 0 || (conversion->losses.cuda_unrecorded > 0 && is_profiler(asked.range));
    missed->all = (asked.range || asked.delay || asked.duration) && !any_began(conversion) && !blind;
    if (missed->all) {
        struct buffer *text = &missed->text;
        uint64_t ran = conversion->options->ran;
        buffer_text(text, "nothing was recorded: ");
        if (ran > 0 && ran < asked.delay) {
            buffer_text(text, "the program ended after ");
            put_time(text, ran);
            buffer_text(text, ", before ");
            put_option(text, "delay", asked.delay);
            buffer_text(text, " had passed");
        } else if (asked.range) {
            put_range(conversion, text, asked.range);
            if (conversion->missed->started_outside)
                put_window(text, asked.delay, asked.duration, false);
        } else {
            buffer_text(text, "no process used CUDA or NVTX ");
            put_window(text, asked.delay, asked.duration, true);
        }
    }
    /* Whether the program used none of the selected domains while it was recorded. */
    bool any_wanted = missed->ranges.count > 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        any_wanted |= process->nvtx_wanted || map_count(&process->nvtx->domains) > 0;
    }
    if (asked.domains && conversion->losses.unrecorded == 0 && !any_wanted &&
        (any_began(conversion) || is_nvtx(asked.range))) {
        buffer_format(&missed->text, "%sno NVTX domain of --nvtx-domains=%s was used", missed->all ? "; " : "",
                      asked.domains);
        put_seen(&missed->text, &missed->domains);
    }
    buffer_char(&missed->text, '\0');
    return buffer_finish(&missed->text) == 0 ? 0 : error_no_memory("what was not recorded");
}

void write_missed(const struct conversion *conversion, struct json_out *json)
{
    if (conversion->missed->text.length <= 1)
        return;
    json_put_text(json, "missed", conversion->missed->text.data);
}
