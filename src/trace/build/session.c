/*
 * session.json, what the launcher noted about the run. It may be missing, or be no JSON: then the trace says less.
 */
#include "trace/build/session.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/buffer.h"
#include "trace/build/nvtx.h"
#include "trace/build/process.h"
#include "common/spool_records.h"
#include "trace/build/event_passes.h"

#define SESSION_MAX (16 * 1024 * 1024)
#define SESSION_DEPTH 16       /* of values that are copied */
#define SESSION_VALUES 1000000 /* some 80 bytes each */

/* Opens a file, and nothing that could hold us up. Returns its descriptor, or -1. */
static int open_note(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno != ENOENT)
        warning("cannot read '%s': %m", path);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
        return fd;
    warning("'%s' is not a regular file: the trace has no facts about the run", path);
    close(fd);
    return -1;
}

static int read_all(struct buffer *text, const char *path)
{
    int fd = open_note(path);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && text->length < SESSION_MAX) {
        char *space = buffer_reserve(text, 4096);
        got = space ? read(fd, space, 4096) : -1;
        buffer_advance(text, got > 0 ? (size_t)got : 0);
    }
    if (fd >= 0)
        close(fd);
    return got < 0 || text->failure ? -1 : 0;
}

/* Whether a tree of it is of a size that one may ask memory for: counted are what parts values, outside of texts. */
static bool is_bounded(const char *text, size_t length)
{
    size_t values = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    return values <= SESSION_VALUES;
}

static int64_t number_of(const cJSON *json, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < INT32_MAX)
        return (int64_t)item->valuedouble;
    return -1;
}

void session_note_read(struct session_note *session, const char *directory)
{
    *session = (struct session_note){.rank = -1, .world_size = -1};
    char *path = NULL;
    struct buffer text;
    if (asprintf(&path, "%s/%s", directory, SPOOL_SESSION_FILE) < 0)
        return;
    buffer_init_memory(&text);
    if (read_all(&text, path) == 0) {
        session->json = is_bounded(text.data, text.length) ? cJSON_ParseWithLength(text.data, text.length) : NULL;
        if (!cJSON_IsObject((cJSON *)session->json))
            warning("'%s' is not a JSON object: the trace has no facts about the run", path);
        session->rank = number_of(session->json, "rank");
        session->world_size = number_of(session->json, "world_size");
        session->host = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(session->json, "host"));
    }
    buffer_release(&text);
    free(path);
}

void session_note_release(struct session_note *session)
{
    cJSON_Delete(session->json);
    session->json = NULL;
}

static const cJSON *option_of(const struct session_note *session, const char *name)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(session->json, "options");
    return cJSON_GetObjectItemCaseSensitive(options, name);
}

const char *session_note_text(const struct session_note *session, const char *option)
{
    return cJSON_GetStringValue(option_of(session, option));
}

uint64_t session_note_number(const struct session_note *session, const char *option)
{
    const cJSON *value = option_of(session, option);
    bool fits = cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < 9e18;
    return fits ? (uint64_t)value->valuedouble : 0;
}

static void put_value(struct json_out *json, const cJSON *value, int depth);

static void put_members(struct json_out *json, const cJSON *value, int depth)
{
    bool object = cJSON_IsObject(value);
    if (object)
        json_begin_object(json);
    else
        json_begin_array(json);
    for (const cJSON *item = depth > 0 ? value->child : NULL; item; item = item->next) {
        if (object)
            json_key_text(json, item->string, strlen(item->string));
        put_value(json, item, depth - 1);
    }
    json_end(json);
}

static void put_value(struct json_out *json, const cJSON *value, int depth)
{
    double number = cJSON_IsNumber(value) ? value->valuedouble : 0;
    if (cJSON_IsObject(value) || cJSON_IsArray(value))
        put_members(json, value, depth);
    else if (cJSON_IsString(value))
        json_string(json, value->valuestring);
    else if (cJSON_IsNumber(value) && number > -9e18 && number < 9e18 && (double)(int64_t)number == number)
        json_i64(json, (int64_t)number);
    else if (cJSON_IsNumber(value))
        json_double(json, number, -1);
    else if (cJSON_IsBool(value))
        json_bool(json, cJSON_IsTrue(value));
    else
        json_string(json, NULL);
}

void session_note_put(const struct session_note *session, struct json_out *json)
{
    static const char *const keys[] = {"command", "host", "started", "clock", "options"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(session->json, keys[i]);
        if (!value)
            continue;
        json_key(json, keys[i]);
        put_value(json, value, SESSION_DEPTH);
    }
}

/*
 * What the user wanted to see and what never came: recording that never began, NVTX of domains that nobody used. The
 * sentence says what was waited for and what was seen instead, for the metadata and for the last line of a run.
 */

/* More names than these are not listed; the library does not note more ranges of a process either. */
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

/* --- parts of sentences --- */

static void put_time(struct buffer *text, uint64_t ns)
{
    if (ns < NS_PER_S - NS_PER_MS / 2) /* else it would be 1e+03 ms */
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

/* --- what was asked for --- */

static bool any_began(const struct conversion *conversion)
{
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (capture_intervals_any_on(conversion_process(conversion, i)->capture_intervals))
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
    bool any = conversion->missed->ranges.count > 0;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        any = any || process->nvtx_wanted || map_count(&process->nvtx->domains) > 0;
    }
    return any;
}

/* Options of the run; NULL or 0: not given. */
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

/* --- sentences --- */

/* The time in which the program could be recorded, or all other time. */
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
    if (is_profiler(range) && !any_cuda(conversion)) {
        buffer_text(text, "cudaProfilerStart was not seen, as no process used CUDA");
    } else if (!is_nvtx(range)) {
        buffer_text(text, is_profiler(range) ? "cudaProfilerStart" : "gputrace_start");
        buffer_text(text, outside ? " was called only " : " was never called");
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

/* Whether recording waited for something that never came. Nobody knows where a process could not be watched. */
static bool waited_in_vain(const struct conversion *conversion, const struct asked *asked)
{
    bool blind =
        conversion->losses.unrecorded > 0 || (conversion->losses.cuda_unrecorded > 0 && is_profiler(asked->range));
    return (asked->range || asked->delay || asked->duration) && !any_began(conversion) && !blind;
}

static void put_capture(const struct conversion *conversion, struct buffer *text, const struct asked *asked)
{
    uint64_t ran = conversion->options->ran;
    buffer_text(text, "nothing was recorded: ");
    if (ran > 0 && ran < asked->delay) {
        buffer_text(text, "the program ended after ");
        put_time(text, ran);
        buffer_text(text, ", before ");
        put_option(text, "delay", asked->delay);
        buffer_text(text, " had passed");
    } else if (asked->range) {
        put_range(conversion, text, asked->range);
        if (conversion->missed->started_outside)
            put_window(text, asked->delay, asked->duration, false);
    } else {
        buffer_text(text, "no process used CUDA or NVTX ");
        put_window(text, asked->delay, asked->duration, true);
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
    missed->all = waited_in_vain(conversion, &asked);
    if (missed->all)
        put_capture(conversion, &missed->text, &asked);
    /* Whether the program has none of the domains that were listed, as far as it was recorded. */
    if (asked.domains && conversion->losses.unrecorded == 0 && !any_wanted_nvtx(conversion) &&
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
