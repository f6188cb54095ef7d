#include "check_trace/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_trace/names.h"

/* ---- bytes ---- */

int input_open(struct input *input, const char *path)
{
    input->path = path;
    input->line = 1;
    input->at = input->filled = 0;
    input->file = gzopen(path, "rb");
    if (!input->file) {
        fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
        return -1;
    }
    gzbuffer(input->file, 1 << 18);
    return 0;
}

void input_close(struct input *input)
{
    gzclose_r(input->file);
}

int input_fill(struct input *input)
{
    int got = gzread(input->file, input->bytes, sizeof(input->bytes));
    int failure = Z_OK;
    const char *words = gzerror(input->file, &failure);
    /* A gzip file that is cut reads to its end and says so only here. */
    if (got < 0 || failure < 0) {
        fprintf(stderr, "%s: cannot be read: %s\n", input->path, failure == Z_ERRNO ? strerror(errno) : words);
        exit(1);
    }
    input->at = 0;
    input->filled = (size_t)got;
    return got ? input->bytes[0] : INPUT_END;
}

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

/* ---- strings and numbers, read into the reader's word: these return its length ---- */

static void word_put(struct json_reader *reader, size_t at, int byte)
{
    if (at + 1 >= reader->word_capacity) {
        reader->word_capacity *= 2;
        reader->word = need_memory(realloc(reader->word, reader->word_capacity));
    }
    reader->word[at] = (char)byte;
    reader->word[at + 1] = '\0';
}

static int take(struct json_reader *reader)
{
    int byte = input_next(reader->input);
    if (byte == INPUT_END)
        json_fail(reader, "the file ends in the middle of a value");
    return byte;
}

/* The bytes of a UTF-8 character after its first, as RFC 3629's table has them: overlong forms, surrogates and what is
 * above U+10FFFF are recognised by the second byte. */
static size_t read_utf8(struct json_reader *reader, size_t at, int first)
{
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    int least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    int most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (first < 0xc2 || first > 0xf4)
        json_fail(reader, "byte 0x%02x does not begin a UTF-8 character", (unsigned)first);
    word_put(reader, at++, first);
    for (; more > 0; more--) {
        int byte = take(reader);
        if (byte < least || byte > most)
            json_fail(reader, "byte 0x%02x does not go on the UTF-8 character begun by 0x%02x", (unsigned)byte,
                      (unsigned)first);
        word_put(reader, at++, byte);
        least = 0x80;
        most = 0xbf;
    }
    return at;
}

static unsigned read_hex4(struct json_reader *reader)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        int byte = take(reader);
        unsigned digit = byte >= '0' && byte <= '9'   ? (unsigned)(byte - '0')
                         : byte >= 'a' && byte <= 'f' ? (unsigned)(byte - 'a') + 10
                         : byte >= 'A' && byte <= 'F' ? (unsigned)(byte - 'A') + 10
                                                      : 16;
        if (digit == 16)
            json_fail(reader, "\\u is not followed by four hexadecimal digits");
        value = value * 16 + digit;
    }
    return value;
}

/* What follows \u. */
static unsigned read_code_point(struct json_reader *reader)
{
    unsigned code = read_hex4(reader);
    if (code < 0xd800 || code > 0xdfff)
        return code;
    if (code > 0xdbff || take(reader) != '\\' || take(reader) != 'u')
        json_fail(reader, "half a surrogate pair: \\u%04x", code);
    unsigned low = read_hex4(reader);
    if (low < 0xdc00 || low > 0xdfff)
        json_fail(reader, "half a surrogate pair: \\u%04x", code);
    if (!reader->surrogates)
        json_fail(reader, "\\u%04x\\u%04x: Perfetto cannot read surrogate pairs, write UTF-8 as it is", code, low);
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

static size_t put_code_point(struct json_reader *reader, size_t at, unsigned code)
{
    if (code < 0x80) {
        word_put(reader, at++, (int)code);
    } else if (code < 0x800) {
        word_put(reader, at++, (int)(0xc0 | code >> 6));
        word_put(reader, at++, (int)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        word_put(reader, at++, (int)(0xe0 | code >> 12));
        word_put(reader, at++, (int)(0x80 | (code >> 6 & 0x3f)));
        word_put(reader, at++, (int)(0x80 | (code & 0x3f)));
    } else {
        word_put(reader, at++, (int)(0xf0 | code >> 18));
        word_put(reader, at++, (int)(0x80 | (code >> 12 & 0x3f)));
        word_put(reader, at++, (int)(0x80 | (code >> 6 & 0x3f)));
        word_put(reader, at++, (int)(0x80 | (code & 0x3f)));
    }
    return at;
}

static size_t read_escape(struct json_reader *reader, size_t at)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int byte = take(reader);
    if (byte == 'u')
        return put_code_point(reader, at, read_code_point(reader));
    const char *found = byte ? strchr(from, byte) : NULL;
    if (!found)
        json_fail(reader, "unknown escape in a string: backslash and byte %d", byte);
    word_put(reader, at, to[found - from]);
    return at + 1;
}

static size_t json_read_string(struct json_reader *reader)
{
    size_t at = 0;
    word_put(reader, 0, '\0');
    for (;;) {
        int byte = take(reader);
        if (byte == '"')
            return at;
        if (byte < 0x20)
            json_fail(reader, "control character 0x%02x in a string", (unsigned)byte);
        if (byte == '\\')
            at = read_escape(reader, at);
        else if (byte >= 0x80)
            at = read_utf8(reader, at, byte);
        else
            word_put(reader, at++, byte);
    }
}

static size_t read_digits(struct json_reader *reader, size_t at)
{
    size_t begin = at;
    for (int byte = input_peek(reader->input); byte >= '0' && byte <= '9'; byte = input_peek(reader->input))
        word_put(reader, at++, input_next(reader->input));
    if (at == begin)
        json_fail(reader, "a number lacks a digit after '%.*s'", (int)at, reader->word);
    return at;
}

static size_t json_read_number(struct json_reader *reader)
{
    size_t at = 0;
    word_put(reader, 0, '\0');
    if (input_peek(reader->input) == '-')
        word_put(reader, at++, input_next(reader->input));
    size_t digits = at;
    at = read_digits(reader, at);
    if (reader->word[digits] == '0' && at - digits > 1)
        json_fail(reader, "a number begins with 0: %s", reader->word);
    if (input_peek(reader->input) == '.') {
        word_put(reader, at++, input_next(reader->input));
        at = read_digits(reader, at);
    }
    int byte = input_peek(reader->input);
    if (byte == 'e' || byte == 'E') {
        word_put(reader, at++, input_next(reader->input));
        byte = input_peek(reader->input);
        if (byte == '+' || byte == '-')
            word_put(reader, at++, input_next(reader->input));
        at = read_digits(reader, at);
    }
    if (!isfinite(strtod(reader->word, NULL)))
        json_fail(reader, "a number is too large for a double: %s", reader->word);
    return at;
}

/* ---- values ---- */

/* Trees live in blocks that are used again from the start after json_forget(). */
struct json_block {
    struct json_block *next;
    size_t used, capacity;
    _Alignas(16) char bytes[];
};

static void *json_alloc(struct json_reader *reader, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct json_block **link = &reader->block;
    while (*link && (*link)->capacity - (*link)->used < size)
        link = &(*link)->next;
    if (!*link) {
        size_t capacity = size > 1 << 16 ? size : 1 << 16;
        *link = need_memory(calloc(1, sizeof(**link) + capacity));
        (*link)->capacity = capacity;
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
    *reader = (struct json_reader){.input = input, .surrogates = surrogates, .word_capacity = 256};
    reader->word = need_memory(malloc(reader->word_capacity));
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
