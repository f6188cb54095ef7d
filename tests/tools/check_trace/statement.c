/*
 * A program's statement of what its trace must hold: lines "expect WHAT COUNT [bytes N]" among its other output. The
 * language is described in samples/README.md. WHAT is a key of tally.c, word for word, but for
 * `row`, `query` and `memory`.
 */
#include "check_trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
    uint64_t least, most, bytes;
    bool has_bytes;
};

/* The last word of LINE, cut off; NULL when it has only one. */
static char *last_word(char *line)
{
    char *blank = strrchr(line, ' ');
    if (!blank || blank == line)
        return NULL;
    *blank = '\0';
    return blank + 1;
}

static bool number(const char *text, char **end, uint64_t *value)
{
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *value = strtoull(text, end, 10);
    return errno == 0;
}

/* N, N.. or N..M */
static bool parse_count(const char *text, struct wanted *wanted)
{
    char *end;
    if (!number(text, &end, &wanted->least))
        return false;
    wanted->most = wanted->least;
    if (!*end)
        return true;
    if (strncmp(end, "..", 2) != 0)
        return false;
    wanted->most = UINT64_MAX;
    return !end[2] || (number(end + 2, &end, &wanted->most) && !*end);
}

/* Cuts "COUNT [bytes N]" off LINE. */
static bool parse_wanted(char *line, struct wanted *wanted)
{
    char *end, *word = last_word(line);
    size_t length = strlen(line);
    *wanted = (struct wanted){0};
    if (word && length > 6 && strcmp(line + length - 6, " bytes") == 0) {
        wanted->has_bytes = number(word, &end, &wanted->bytes) && !*end;
        if (!wanted->has_bytes)
            return false;
        line[length - 6] = '\0';
        word = last_word(line);
    }
    return word && parse_count(word, wanted);
}

static void range_words(char *out, size_t capacity, const struct wanted *wanted)
{
    if (wanted->most == UINT64_MAX)
        snprintf(out, capacity, "%" PRIu64 " or more", wanted->least);
    else if (wanted->most != wanted->least)
        snprintf(out, capacity, "%" PRIu64 " to %" PRIu64, wanted->least, wanted->most);
    else
        snprintf(out, capacity, "%" PRIu64, wanted->least);
}

static void compare(struct trace *trace, const char *what, const struct wanted *wanted, const struct count *found)
{
    char words[64];
    range_words(words, sizeof(words), wanted);
    if (found->events < wanted->least || found->events > wanted->most)
        problem(trace, 0, "statement", "%s: %s expected, %" PRIu64 " found", what, words, found->events);
    if (wanted->has_bytes && found->bytes != wanted->bytes)
        problem(trace, 0, "statement", "%s: %" PRIu64 " bytes expected, %" PRIu64 " found", what, wanted->bytes,
                found->bytes);
}

/* row "NAME": processes and threads whose name contains NAME. */
static struct count count_rows(const struct trace *trace, const char *quoted)
{
    char name[256];
    struct count found = {0, 0};
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(quoted + 1, "\""), quoted + 1);
    for (uint32_t i = 0; i < trace->titles.count; i++)
        found.events += strstr(names_get(&trace->titles, i), name) != NULL;
    return found;
}

/* A counter: how many values it has, and the last. */
struct counter_samples {
    unsigned long count;
    double last;
};

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
static const char *quoted_word(const char *text, char *out, size_t capacity)
{
    size_t at = 0;
    if (*text++ != '"')
        return NULL;
    for (; *text && *text != '"' && at + 1 < capacity; text++) {
        if (*text == '\\' && text[1])
            text++;
        out[at++] = *text;
    }
    out[at] = '\0';
    return text[0] == '"' && text[1] == ' ' ? text + 2 : NULL;
}

/* counter "NAME" ["SERIES"] samples N last VALUE */
static bool compare_counter(struct trace *trace, const char *line)
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

/* The counters "Memory in use: KIND": every step up is an allocation, every step down a release. */
struct memory_steps {
    uint64_t allocations, bytes, releases, peak, end;
};

static int by_counter(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;
    if (left->counter != right->counter)
        return left->counter < right->counter ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static void add_step(struct memory_steps *steps, double before, double value)
{
    if (value > before) {
        steps->allocations++;
        steps->bytes += (uint64_t)(value - before);
    } else if (value < before) {
        steps->releases++;
    }
    if (value > 0 && (uint64_t)value > steps->peak)
        steps->peak = (uint64_t)value;
}

/* Counters of several devices add up, but for the peak, which is that of the highest. */
static void count_steps(const struct trace *trace, const char *kind, struct memory_steps *steps)
{
    char name[128];
    size_t length = (size_t)snprintf(name, sizeof(name), "Memory in use: %s\t", kind);
    *steps = (struct memory_steps){0};
    if (trace->samples_count > 1)
        qsort(trace->samples, trace->samples_count, sizeof(*trace->samples), by_counter);
    double before = 0;
    for (size_t i = 0; i < trace->samples_count; i++) {
        const struct sample *sample = &trace->samples[i];
        if (strncmp(names_get(&trace->texts, sample->counter), name, length) != 0)
            continue;
        add_step(steps, before, sample->value);
        bool last = i + 1 == trace->samples_count || trace->samples[i + 1].counter != sample->counter;
        if (last && sample->value > 0)
            steps->end += (uint64_t)sample->value;
        before = last ? 0 : sample->value;
    }
}

/* memory KIND allocations N bytes N releases N peak N end N */
static bool compare_memory(struct trace *trace, const char *what)
{
    char kind[32], extra;
    struct memory_steps wanted, found;
    if (sscanf(what,
               "%31s allocations %" SCNu64 " bytes %" SCNu64 " releases %" SCNu64 " peak %" SCNu64 " end %" SCNu64 "%c",
               kind, &wanted.allocations, &wanted.bytes, &wanted.releases, &wanted.peak, &wanted.end, &extra) != 6)
        return false;
    count_steps(trace, kind, &found);
    const struct {
        const char *what;
        uint64_t wanted, found;
    } numbers[] = {{"allocations", wanted.allocations, found.allocations},
                   {"bytes", wanted.bytes, found.bytes},
                   {"releases", wanted.releases, found.releases},
                   {"peak", wanted.peak, found.peak},
                   {"end", wanted.end, found.end}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (numbers[i].wanted != numbers[i].found)
            problem(trace, 0, "statement", "memory %s %s: %" PRIu64 " expected, %" PRIu64 " found", kind,
                    numbers[i].what, numbers[i].wanted, numbers[i].found);
    return true;
}

/* query NAME: a call that only asks, which is in the trace if --trace=api-all asked for it. */
static void compare_query(struct trace *trace, const char *name, struct wanted *wanted)
{
    char key[256];
    snprintf(key, sizeof(key), "api %s", name);
    if (!trace->queries)
        wanted->least = wanted->most = 0;
    compare(trace, key, wanted, tally_of(trace, key));
}

/* A line without "expect ". False when it cannot be understood. */
static bool check_line(struct trace *trace, char *line)
{
    struct wanted wanted;
    if (strncmp(line, "memory ", 7) == 0)
        return compare_memory(trace, line + 7);
    if (strncmp(line, "counter ", 8) == 0)
        return compare_counter(trace, line + 8);
    if (!parse_wanted(line, &wanted))
        return false;
    if (strncmp(line, "row \"", 5) == 0) {
        struct count found = count_rows(trace, line + 4);
        compare(trace, line, &wanted, &found);
    } else if (strncmp(line, "query ", 6) == 0) {
        compare_query(trace, line + 6, &wanted);
    } else {
        if (strncmp(line, "loss ", 5) == 0)
            names_put(&trace->stated, line, strlen(line));
        compare(trace, line, &wanted, tally_of(trace, line));
    }
    return true;
}

int trace_statement(struct trace *trace, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    uint64_t lines = 0;
    if (!file) {
        fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
        return -1;
    }
    while ((length = getline(&line, &capacity, file)) > 0) {
        while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
            line[--length] = '\0';
        if (strncmp(line, "expect ", 7) != 0)
            continue;
        lines++;
        char *copy = strdup(line);
        if (!copy || !check_line(trace, line + 7))
            problem(trace, 0, "statement", "a line that cannot be understood: %s", copy ? copy : "");
        free(copy);
    }
    if (lines == 0)
        problem(trace, 0, "statement", "'%s' has no line that begins with \"expect\"", path);
    else
        tally(trace, 0, "statement");
    free(line);
    fclose(file);
    return 0;
}
