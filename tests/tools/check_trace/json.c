#include "check_trace/json_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trees live in blocks that are used again from the start after json_forget(). */
struct json_block {
    struct json_block *next;
    size_t used, room;
    _Alignas(16) char bytes[];
};

void json_fail(const struct json_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%" PRIu64 ": not valid JSON: ", reader->input->path, reader->input->line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

void *json_need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

static void *json_alloc(struct json_reader *reader, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct json_block **link = &reader->block;
    while (*link && (*link)->room - (*link)->used < size)
        link = &(*link)->next;
    if (!*link) {
        size_t room = size > 1 << 16 ? size : 1 << 16;
        *link = json_need(calloc(1, sizeof(**link) + room));
        (*link)->room = room;
        if (!reader->blocks)
            reader->blocks = *link;
    }
    reader->block = *link;
    void *memory = reader->block->bytes + reader->block->used;
    reader->block->used += size;
    return memory;
}

void json_forget(struct json_reader *reader)
{
    for (struct json_block *block = reader->blocks; block; block = block->next)
        block->used = 0;
    reader->block = reader->blocks;
}

void json_reader_init(struct json_reader *reader, struct input *input, bool surrogates)
{
    *reader = (struct json_reader){.input = input, .surrogates = surrogates, .word_room = 256};
    reader->word = json_need(malloc(reader->word_room));
}

void json_reader_release(struct json_reader *reader)
{
    while (reader->blocks) {
        struct json_block *next = reader->blocks->next;
        free(reader->blocks);
        reader->blocks = next;
    }
    free(reader->word);
}

static const char *word_keep(struct json_reader *reader, size_t length)
{
    char *text = json_alloc(reader, length + 1);
    memcpy(text, reader->word, length);
    text[length] = '\0';
    return text;
}

void json_white(struct json_reader *reader)
{
    for (;;) {
        int byte = input_peek(reader->input);
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')
            return;
        input_next(reader->input);
    }
}

bool json_accept(struct json_reader *reader, char byte)
{
    json_white(reader);
    if (input_peek(reader->input) != byte)
        return false;
    input_next(reader->input);
    return true;
}

void json_expect(struct json_reader *reader, char byte, const char *where)
{
    if (json_accept(reader, byte))
        return;
    int found = input_peek(reader->input);
    if (found == INPUT_END)
        json_fail(reader, "the file ends where '%c' was expected %s", byte, where);
    json_fail(reader, "'%c' (byte %d) where '%c' was expected %s", found > 32 && found < 127 ? found : '?', found, byte,
              where);
}

static enum json_type read_literal(struct json_reader *reader)
{
    static const struct {
        const char *word;
        enum json_type type;
    } literals[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
    char word[16];
    size_t length = 0;
    for (int byte = input_peek(reader->input); length < sizeof(word) - 1; byte = input_peek(reader->input)) {
        if (!((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')))
            break;
        word[length++] = (char)input_next(reader->input);
    }
    word[length] = '\0';
    for (size_t i = 0; i < sizeof(literals) / sizeof(*literals); i++)
        if (strcmp(word, literals[i].word) == 0)
            return literals[i].type;
    int byte = input_peek(reader->input);
    if (length == 0 && byte == INPUT_END)
        json_fail(reader, "the file ends where a value was expected");
    if (length == 0)
        json_fail(reader, "'%c' (byte %d) where a value was expected", byte > 32 && byte < 127 ? byte : '?', byte);
    json_fail(reader, "'%s' is no value", word);
}

static void refuse_twice(struct json_reader *reader, const struct json *object, const struct json *member)
{
    for (const struct json *other = object->first; other && other != member; other = other->next)
        if (other->key_length == member->key_length && memcmp(other->key, member->key, member->key_length) == 0)
            json_fail(reader, "the key \"%s\" is twice in one object", member->key);
}

static void read_children(struct json_reader *reader, struct json *parent, char close)
{
    struct json **link = &parent->first;
    if (++reader->depth > JSON_DEPTH)
        json_fail(reader, "nested deeper than %d levels", JSON_DEPTH);
    if (!json_accept(reader, close)) {
        do {
            *link = parent->type == JSON_OBJECT ? json_read_member(reader) : json_read(reader);
            if (parent->type == JSON_OBJECT)
                refuse_twice(reader, parent, *link);
            link = &(*link)->next;
        } while (json_accept(reader, ','));
        json_expect(reader, close, parent->type == JSON_OBJECT ? "in an object" : "in an array");
    }
    reader->depth--;
}

const char *json_read_key(struct json_reader *reader)
{
    json_expect(reader, '"', "to begin a key");
    const char *key = word_keep(reader, json_read_string(reader));
    json_expect(reader, ':', "after a key");
    return key;
}

struct json *json_read_member(struct json_reader *reader)
{
    const char *key = json_read_key(reader);
    int byte = input_peek(reader->input);
    struct json *value = json_read(reader);
    value->key = key;
    value->key_length = strlen(key);
    value->space = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
    return value;
}

struct json *json_read(struct json_reader *reader)
{
    struct json *value = json_alloc(reader, sizeof(*value));
    *value = (struct json){.text = ""};
    json_white(reader);
    int byte = input_peek(reader->input);
    if (byte == '{' || byte == '[') {
        input_next(reader->input);
        value->type = byte == '{' ? JSON_OBJECT : JSON_ARRAY;
        read_children(reader, value, byte == '{' ? '}' : ']');
    } else if (byte == '"') {
        input_next(reader->input);
        value->type = JSON_STRING;
        value->length = json_read_string(reader);
        value->text = word_keep(reader, value->length);
    } else if (byte == '-' || (byte >= '0' && byte <= '9')) {
        value->type = JSON_NUMBER;
        value->length = json_read_number(reader);
        value->text = word_keep(reader, value->length);
    } else {
        value->type = read_literal(reader);
    }
    return value;
}

const struct json *json_member(const struct json *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    for (const struct json *member = object->first; member; member = member->next)
        if (strcmp(member->key, key) == 0)
            return member;
    return NULL;
}

bool json_integer(const struct json *value, int64_t *integer)
{
    if (!value || value->type != JSON_NUMBER || strpbrk(value->text, ".eE"))
        return false;
    errno = 0;
    *integer = strtoll(value->text, NULL, 10);
    return errno == 0;
}

bool json_time(const struct json *value, int64_t *ns, bool *exact)
{
    if (!value || value->type != JSON_NUMBER)
        return false;
    const char *point = strchr(value->text, '.');
    size_t decimals = point ? strlen(point + 1) : 0;
    *exact = decimals <= 3 && !strpbrk(value->text, "eE");
    if (!*exact) {
        *ns = llround(strtod(value->text, NULL) * 1000);
        return true;
    }
    /* "12.3" is 12 and 300, read as digits: a double would not hold every nanosecond. */
    char digits[64];
    int whole = point ? (int)(point - value->text) : (int)value->length;
    snprintf(digits, sizeof(digits), "%.*s%s%s", whole, value->text, point ? point + 1 : "", &"000"[decimals]);
    errno = 0;
    *ns = strtoll(digits, NULL, 10);
    return errno == 0;
}
