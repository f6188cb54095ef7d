/* Writes session.json before the program starts, and reads it when a trace is recovered after a kill. */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cjson/cJSON.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/buffer.h"
#include "common/settings.h"
#include "common/spool.h"

static void put_list(struct json_out *json, const char *key, const char *list)
{
    if (list)
        json_put_text(json, key, list);
}

static void put_time(struct json_out *json, const char *key, uint64_t ns)
{
    if (ns != 0)
        json_put_u64(json, key, ns);
}

/* Writes the kinds of calls whose stacks are recorded, and the number of launches for each recorded stack. */
static void put_stacks(struct json_out *json, const struct settings *settings)
{
    json_key(json, "stacks");
    json_begin_array_flat(json);
#define BIT(name, word)                   \
    if (settings->stacks & STACKS_##name) \
        json_string(json, word);
    STACKS_BITS(BIT)
#undef BIT
    json_end(json);
    if (settings->stacks & (STACKS_LAUNCH | STACKS_PYTHON))
        json_put_i64(json, "stacks_every", settings->stacks_every ? settings->stacks_every : STACKS_EVERY_DEFAULT);
}

static void put_true(struct json_out *json, const char *key, bool is_true)
{
    if (!is_true)
        return;
    json_key(json, key);
    json_bool(json, true);
}

static void put_options(struct json_out *json, const struct session *session)
{
    const struct settings *settings = session->settings;
    json_key_object(json, "options");
    json_key(json, "trace");
    json_begin_array_flat(json);
#define BIT(name, word, on, text)         \
    if (settings->trace & (TRACE_##name)) \
        json_string(json, word);
    TRACE_BITS(BIT)
#undef BIT
    json_end(json);
    json_put_text(json, "api_calls", settings->trace & TRACE_API_ALL ? "all" : "without queries");
    json_put_text(json, "graph", settings->graph_nodes ? "node" : "graph");
    json_put_text(json, "capture_range", settings->capture_range);
    put_list(json, "nvtx_domains", settings->nvtx_domains);
    put_list(json, "nvtx_exclude", settings->nvtx_exclude);
    put_list(json, "ranks", settings->ranks);
    put_true(json, "mpi", session->mpi);
    json_put_i64(json, "start_at", settings->start_at);
    json_put_i64(json, "stop_at", settings->stop_at);
    put_time(json, "delay", session->delay);
    put_time(json, "duration", session->duration);
    put_stacks(json, settings);
    if (session->cpu && session->cpu->hertz)
        json_put_u64(json, "cpu_samples_hz", session->cpu->hertz);
    put_true(json, "cpu_switches", session->cpu && session->cpu->switches);
    json_put_i64(json, "flush_interval_ms", settings->flush_interval_ms);
    if (settings->plugins) {
        json_key(json, "plugins");
        json_begin_array_flat(json);
        for (const char *line = settings->plugins; *line; line += strcspn(line, "\n"), line += *line == '\n')
            json_string_n(json, line, strcspn(line, "\n"));
        json_end(json);
    }
    json_end(json);
}

#define FREQUENCY_UNIT 65536.0 /* units of timex.freq in one part per million */

void session_put_clock(struct json_out *json, int state, const struct timex *clock)
{
    if (state < 0)
        return;
    json_key_object(json, "clock");
    json_key(json, "synchronised");
    json_bool(json, state != TIME_ERROR && !(clock->status & STA_UNSYNC));
    json_put_i64(json, "error_us", clock->maxerror);
    json_put_i64(json, "estimated_error_us", clock->esterror);
    json_key(json, "frequency_ppm");
    json_double(json, (double)clock->freq / FREQUENCY_UNIT, 3);
    json_end(json);
}

static void put_session(struct json_out *json, const struct session *session)
{
    char host[HOST_NAME_MAX + 1] = "", folder[PATH_MAX];
    gethostname(host, sizeof(host) - 1);
    json_begin_object(json);
    json_put_text(json, "version", GPUTRACE_VERSION);
    json_key(json, "command");
    json_begin_array_flat(json);
    for (char *const *word = session->command; *word; word++)
        json_string(json, *word);
    json_end(json);
    json_put_text(json, "host", host);
    json_put_u64(json, "started", clock_now());
    struct timex clock = {.modes = 0};
    int state = adjtimex(&clock);
    session_put_clock(json, state, &clock);
    json_put_text(json, "output", session->output);
    if (getcwd(folder, sizeof(folder)))
        json_put_text(json, "folder", folder);
    if (session->rank && session->rank->rank >= 0) {
        json_put_i64(json, "rank", session->rank->rank);
        if (session->rank->world_size >= 0)
            json_put_i64(json, "world_size", session->rank->world_size);
    }
    put_options(json, session);
    json_end(json);
}

int session_write(const char *directory, const struct session *session)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/" SPOOL_SESSION_FILE, directory);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error("cannot write a file in '%s': its name is too long", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error("cannot write '%s': %s", path, strerror(errno));
    struct buffer buffer;
    struct json_out json;
    buffer_init(&buffer, buffer_drain_fd, BUFFER_FD(fd));
    json_out_init(&json, &buffer, true);
    put_session(&json, session);
    buffer_char(&buffer, '\n');
    int failure = buffer_finish(&buffer);
    buffer_release(&buffer);
    if (close(fd) != 0 && !failure)
        failure = errno;
    return failure ? error("cannot write '%s': %s", path, strerror(failure)) : 0;
}

#define NOTE_MAX ((size_t)1 << 20)

/* Parses session.json in DIRECTORY. Returns NULL if the file is missing or is not JSON. */
static cJSON *read_note(const char *directory)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/" SPOOL_SESSION_FILE, directory);
    int fd = length < 0 || (size_t)length >= sizeof(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *text = fd < 0 ? NULL : malloc(NOTE_MAX);
    ssize_t got = text ? read(fd, text, NOTE_MAX) : -1;
    cJSON *json = got > 0 ? cJSON_ParseWithLength(text, (size_t)got) : NULL;
    free(text);
    if (fd >= 0)
        close(fd);
    return json;
}

static void put_words(const cJSON *json, char *text, size_t space)
{
    size_t used = 0;
    *text = '\0';
    for (const cJSON *word = cJSON_IsArray(json) ? json->child : NULL; word; word = word->next) {
        int length =
            !cJSON_IsString(word) ? 0 : snprintf(text + used, space - used, "%s%s", used ? " " : "", word->valuestring);
        if (length < 0 || (size_t)length >= space - used)
            return; /* cut */
        used += (size_t)length;
    }
}

void session_read(const char *directory, struct session_facts *facts)
{
    *facts = (struct session_facts){.output = ""};
    cJSON *json = read_note(directory);
    const char *output = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "output"));
    const char *folder = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "folder"));
    put_words(cJSON_GetObjectItemCaseSensitive(json, "command"), facts->command, sizeof(facts->command));
    bool absolute = output && (*output == '/' || !folder);
    int length = !output    ? 0
                 : absolute ? snprintf(facts->output, sizeof(facts->output), "%s", output)
                            : snprintf(facts->output, sizeof(facts->output), "%s/%s", folder, output);
    if (length < 0 || (size_t)length >= sizeof(facts->output))
        facts->output[0] = '\0';
    cJSON_Delete(json);
}
