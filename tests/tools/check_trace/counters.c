/*
 * Counters that a program's statement tells: how many values there are, and the last.
 */
#include "check_trace/trace.h"

#include <stdio.h>
#include <string.h>

/* Of all processes that have it. */
static void find_samples(const struct trace *trace, const char *name, const char *series, struct counter_samples *found)
{
    int64_t latest = INT64_MIN;
    size_t length = strlen(name);
    *found = (struct counter_samples){0};
    for (size_t i = 0; i < trace->samples_count; i++) {
        const struct sample *sample = &trace->samples[i];
        const char *key = names_get(&trace->texts, sample->counter), *last = strrchr(key, '\t');
        if (strncmp(key, name, length) != 0 || key[length] != '\t' || !last || strcmp(last + 1, series) != 0)
            continue;
        found->count++;
        if (sample->time < latest)
            continue;
        latest = sample->time;
        found->last = sample->value;
    }
}

/* TEXT begins with a word in quotes: it goes to OUT without them. What comes after it and a blank; NULL: it does not.
 */
static const char *quoted_word(const char *text, char *out, size_t room)
{
    size_t at = 0;
    if (*text++ != '"')
        return NULL;
    for (; *text && *text != '"' && at + 1 < room; text++) {
        if (*text == '\\' && text[1])
            text++;
        out[at++] = *text;
    }
    out[at] = '\0';
    return text[0] == '"' && text[1] == ' ' ? text + 2 : NULL;
}

bool trace_counter(struct trace *trace, const char *line)
{
    char name[256], series[128] = "value", extra;
    struct counter_samples wanted = {0}, found;
    const char *rest = quoted_word(line, name, sizeof(name));
    if (rest && *rest == '"')
        rest = quoted_word(rest, series, sizeof(series));
    if (!rest || sscanf(rest, "samples %lu last %lf%c", &wanted.count, &wanted.last, &extra) != 2)
        return false;
    find_samples(trace, name, series, &found);
    if (found.count != wanted.count)
        problem(trace, 0, "statement", "counter \"%s\" \"%s\": %lu samples expected, %lu found", name, series,
                wanted.count, found.count);
    else if (found.count > 0 && found.last != wanted.last)
        problem(trace, 0, "statement", "counter \"%s\" \"%s\": %.17g expected last, %.17g found", name, series,
                wanted.last, found.last);
    return true;
}
