#include "analysis/findings/host_findings.h"
#include "analysis/base/cost_sum.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

static bool is_wanted(const struct trace *trace, const struct idle *idle, const struct idle_row *row,
                      const struct host_question *question)
{
    const struct idle_what *what = &row->what;
    if (what->cause != (question->launching ? IDLE_LAUNCH : IDLE_OUTSIDE) || what->activity == EVENT_NO_TEXT ||
        idle_is_loading(trace, what) != question->loading)
        return false;
    bool off = host_kind_is_off(host_activity_kind(&idle->host, what->activity));
    return question->wanted == HOST_ANY || off == (question->wanted == HOST_OFF_PROCESSOR);
}

/* The doing that took most, over all threads that were waited for, and the activity that took most of it. */
static void find_most(struct host_answer *answer, const struct idle *idle, const int64_t *sums)
{
    const struct dense_map *known = &idle->host.known;
    int64_t *doings = calloc(idle->host.sites.doings.count + 1, sizeof(*doings));
    for (uint32_t i = 0; doings && i < known->count; i++)
        sum_add(&doings[((const struct host_activity *)dense_map_row(known, i))->doing], sums[i]);
    for (uint32_t i = 0; doings && i < known->count; i++) {
        int64_t sum = doings[((const struct host_activity *)dense_map_row(known, i))->doing];
        if (sums[i] > 0 && (sum > answer->most || (sum == answer->most && sums[i] > sums[answer->activity]))) {
            answer->most = sum;
            answer->activity = i;
        }
    }
    free(doings);
}

struct host_answer host_ask(const struct trace *trace, const struct idle *idle, const struct host_question *question)
{
    struct host_answer answer = {.activity = EVENT_NO_TEXT};
    const struct idle_row *row = idle_first_row(&idle->active, question->device);
    int64_t *sums = row ? calloc(idle->host.known.count + 1, sizeof(*sums)) : NULL;
    for (; sums && row; row = idle_next_row(&idle->active, row)) {
        if (!is_wanted(trace, idle, row, question))
            continue;
        sum_add(&answer.total, row->sum.total);
        answer.gaps += row->sum.count;
        sum_add(&sums[row->what.activity], row->sum.total);
    }
    if (sums)
        find_most(&answer, idle, sums);
    free(sums);
    return answer;
}

/* Shortens TEXT to SIZE bytes, at a whole character. */
static void put_short(char *to, size_t size, const char *text)
{
    static const char mark[] = "…";
    size_t length = strlen(text);
    if (length < size) {
        memcpy(to, text, length + 1);
        return;
    }
    length = size - sizeof(mark);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    memcpy(to, text, length);
    memcpy(to + length, mark, sizeof(mark));
}

struct host_phrase host_phrase(const struct host_activities *host, uint32_t activity)
{
    struct host_phrase phrase = {""};
    struct buffer text;
    if (activity == EVENT_NO_TEXT)
        return phrase;
    buffer_init_memory(&text);
    host_activity_write(&text, host, activity);
    buffer_char(&text, '\0');
    if (buffer_finish(&text) == 0)
        put_short(phrase.text, sizeof(phrase.text), text.data);
    buffer_release(&text);
    return phrase;
}

const char *host_advice(const struct host_activities *host, uint32_t activity)
{
    if (activity == EVENT_NO_TEXT)
        return NULL;
    const struct host_activity *known = dense_map_row(&host->known, activity);
    enum host_kind kind = host_activity_kind(host, activity);
    bool pipe = kind == HOST_IO && known->relation == HOST_WOKE; /* a thread wrote what was read */
    return host_kind_advice[pipe ? HOST_WAIT : kind];
}

const struct idle_gap *host_gap(const struct idle *idle, size_t device, uint32_t activity)
{
    const struct idle_gap *found = NULL;
    for (size_t i = 0; activity != EVENT_NO_TEXT && i < idle->largest_count; i++) {
        const struct idle_gap *gap = &idle->largest[i];
        if (gap->device == device && gap->activity == activity &&
            (!found || gap->end - gap->start > found->end - found->start))
            found = gap;
    }
    return found;
}

struct finding_place host_gap_place(size_t device, const struct idle_gap *gap)
{
    struct finding_place place = gap ? finding_at_time(gap->thread, gap->start, gap->end) : finding_nowhere();
    place.device = (int64_t)device;
    return place;
}
