#include "analysis/snapshot.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/log.h"
#include "trace/json/reader.h"
#include "analysis/trace.h"

#define TIME_TEXT 32

static int see_time(void *context, struct trace_event *event)
{
    return trace_event(context, event) < 0 || trace_work(context, event) < 0 ? error_no_memory("the trace's rows") : 0;
}

static int pass_metadata(void *context, const char *key, const struct cJSON *value)
{
    (void)context, (void)key, (void)value;
    return 0;
}

int snapshot_find(int64_t *moment, const struct report_options *options, const char *path)
{
    struct trace trace;
    struct event_sink sink = {.context = &trace, .event = see_time, .metadata = pass_metadata};
    enum log_level level = log_level();
    struct stat file;
    if (strcmp(path, "-") == 0)
        return error("a snapshot needs a file: standard input cannot be read twice");
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode))
        return error("a snapshot needs a file: '%s' cannot be read twice", path);
    trace_init(&trace, options);
    log_set_level(LOG_QUIET); /* warnings come with the second time */
    int status = report_read(options, path, &trace.strings, &sink);
    log_set_level(level);
    trace_sum_times(&trace);
    if (__builtin_add_overflow(trace.start, options->snapshot, moment))
        *moment = options->snapshot < 0 ? INT64_MIN : INT64_MAX;
    trace_release(&trace);
    return status;
}

/* "1.5 s" */
static void put_time(char text[TIME_TEXT], int64_t ns)
{
    static const struct {
        const char *word;
        int64_t ns;
    } units[] = {{"s", NS_PER_S}, {"ms", NS_PER_MS}, {"µs", NS_PER_US}, {"ns", 1}};
    size_t i = 0;
    while (ns < units[i].ns && i + 1 < sizeof(units) / sizeof(*units))
        i++;
    snprintf(text, TIME_TEXT, "%.9g %s", (double)ns / (double)units[i].ns, units[i].word);
}

void snapshot_title(char *title, size_t size, int64_t asked, int64_t span)
{
    char time[TIME_TEXT], end[TIME_TEXT];
    put_time(time, asked);
    put_time(end, span);
    if (asked <= span)
        snprintf(title, size, "Memory allocated at %s", time);
    else
        snprintf(title, size, "Memory allocated at the end of the trace, %s (--snapshot asked for %s)", end, time);
}

void snapshot_warn(const char *path, int64_t asked, int64_t span)
{
    char time[TIME_TEXT], end[TIME_TEXT];
    put_time(time, asked);
    put_time(end, span);
    if (asked > span)
        warning("'%s' ends at %s, before the %s of --snapshot: shown is what was allocated at its end", path, end,
                time);
}
