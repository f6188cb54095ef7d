/*
 * session.json, what the launcher noted about the run. It may be missing, or be no JSON: then the trace says less.
 */
#include "trace/meaning/base/session.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/spool_records.h"

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
