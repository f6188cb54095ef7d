/*
 * Arguments that come as text of JSON, from a trace in another file. Integers keep all digits that a 64-bit integer
 * has, other numbers are doubles, as readers of JSON have them. What has no form of its own here stays text of JSON:
 * arrays, objects, and numbers beyond these.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/json/text.h"
#include "trace/pftrace/arg.h"
#include "trace/pftrace/pftrace_args.h"

#define NUMBER_BYTES 64 /* longer ones stay text */

static enum arg_key find_key(struct json_text name)
{
    for (enum arg_key key = 0; key < ARG_KEY_COUNT; key++)
        if (pftrace_keys[key].length == name.length && memcmp(pftrace_keys[key].text, name.at, name.length) == 0)
            return key;
    return ARG_KEY_COUNT;
}

/* The digits at AT; false: there are none, or they are more than 64 bits hold. */
static bool read_digits(const char **at, const char *end, uint64_t *value)
{
    const char *start = *at;
    for (*value = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*value, UINT64_C(10), value) ||
            __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
            return false;
    return *at > start;
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && (unsigned char)*at <= ' ')
        at++;
    return at;
}

/* [x,y,z] */
static bool is_size3(struct json_text value, struct pftrace_arg *arg)
{
    const char *at = value.at + 1, *end = value.at + value.length;
    uint64_t number;
    if (*value.at != '[')
        return false;
    for (int i = 0; i < 3; i++) {
        at = skip_blank(at, end);
        if (!read_digits(&at, end, &number) || number > INT32_MAX)
            return false;
        at = skip_blank(at, end);
        if (at == end || *at++ != (i < 2 ? ',' : ']'))
            return false;
        arg->size3[i] = (int32_t)number;
    }
    arg->kind = PFTRACE_ARG_SIZE3;
    return true;
}

/* -0 is a double: as an integer it would lose its sign. */
static bool is_integer(struct json_text text, struct pftrace_arg *arg)
{
    bool negative = *text.at == '-';
    const char *at = text.at + negative, *end = text.at + text.length;
    uint64_t value;
    if (!read_digits(&at, end, &value) || at < end || (negative && (value == 0 || value > UINT64_C(1) << 63)))
        return false;
    arg->kind = negative ? PFTRACE_ARG_I64 : PFTRACE_ARG_U64;
    arg->u64 = negative ? 0 - value : value;
    return true;
}

static bool has_fraction_or_exponent(struct json_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (strchr(".eE", text.at[i]))
            return true;
    return false;
}

static void set_number(struct pftrace_arg *arg, struct json_text text)
{
    char digits[NUMBER_BYTES];
    if (is_integer(text, arg))
        return;
    pftrace_set_text(arg, PFTRACE_ARG_JSON, text.at, text.length);
    if (text.length >= sizeof(digits))
        return;
    memcpy(digits, text.at, text.length);
    digits[text.length] = '\0';
    double value = strtod(digits, NULL);
    if (!isfinite(value) || (value != 0 && !has_fraction_or_exponent(text)))
        return;
    arg->kind = PFTRACE_ARG_REAL;
    arg->real = value;
    if (value == floor(value) && fabs(value) < 0x1p53 && (value != 0 || !signbit(value))) {
        arg->kind = value < 0 ? PFTRACE_ARG_I64 : PFTRACE_ARG_U64;
        arg->i64 = (int64_t)value;
    }
}

/* TEXT without its escapes, which may be put into SCRATCH. */
static struct json_text unescaped(struct json_text text, struct sink *scratch)
{
    if (!memchr(text.at, '\\', text.length))
        return text;
    scratch->length = 0;
    json_unescape(scratch, text);
    return scratch->failure ? (struct json_text){"", 0} : (struct json_text){scratch->data, scratch->length};
}

struct scratch {
    struct sink name, text;
};

static void put_member(struct pftrace_put *put, struct json_text name, struct json_text value, struct scratch *scratch)
{
    struct json_text plain = unescaped(name, &scratch->name);
    enum arg_key key = find_key(plain);
    struct pftrace_arg arg = {.name = plain.at, .name_length = plain.length};
    struct json_text text;
    switch (*value.at) {
    case '"':
        text = unescaped((struct json_text){value.at + 1, value.length - 2}, &scratch->text);
        pftrace_set_text(&arg, PFTRACE_ARG_TEXT, text.at, text.length);
        break;
    case 't':
    case 'f':
        arg.kind = PFTRACE_ARG_BOOL;
        arg.u64 = *value.at == 't';
        break;
    case '{':
    case '[':
    case 'n':
        if (!put->shared || (key != ARG_GRID && key != ARG_BLOCK) || !is_size3(value, &arg))
            pftrace_set_text(&arg, PFTRACE_ARG_JSON, value.at, value.length);
        break;
    default: set_number(&arg, value); break;
    }
    pftrace_put_arg(put, key, &arg);
}

void pftrace_put_members(struct pftrace_put *put, const struct arg *arg)
{
    struct json_text key, value;
    struct scratch scratch;
    sink_init_memory(&scratch.name);
    sink_init_memory(&scratch.text);
    for (const char *at = arg->text, *end = at + arg->length; json_member(&at, end, &key, &value);)
        put_member(put, key, value, &scratch);
    if (scratch.name.failure || scratch.text.failure)
        put->body->failure = ENOMEM;
    sink_release(&scratch.name);
    sink_release(&scratch.text);
}
