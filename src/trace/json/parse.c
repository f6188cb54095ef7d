/* Parses metadata with cJSON, and events with fast_path.c. Describes what is wrong with values that cannot be read. */
#include "trace/json/parse.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "common/text.h"

/* Larger trees are refused, so that a hostile file cannot exhaust the machine's memory. */
#define TREE_LIMIT ((size_t)256 * 1024 * 1024)

#define JSON_SHOWN_BYTES 40

/* Writes the start of TEXT's first line for a message, with "…" if it is cut. Returns OUT. */
static const char *json_show(char out[JSON_SHOWN_BYTES], const char *text, size_t length)
{
    size_t used = 0, size;
    for (size_t at = 0; at < length && text[at] != '\n' && text[at] != '\r'; at += size) {
        if (used + UTF8_VISIBLE_BYTES + strlen("…") >= JSON_SHOWN_BYTES) {
            used += (size_t)sprintf(out + used, "…");
            break;
        }
        used += utf8_visible(out + used, text + at, length - at, &size);
    }
    out[used] = '\0';
    return out;
}

void parser_init(struct parser *parser, struct interner *strings)
{
    *parser = (struct parser){.strings = strings};
    buffer_init_memory(&parser->plain);
}

void parser_release(struct parser *parser)
{
    buffer_release(&parser->plain);
}

void json_problems_add(struct json_problems *problems, enum json_problem problem, uint64_t count, uint64_t at,
                       uint64_t line, const char *message)
{
    struct json_problem_count *found = &problems->of[problem];
    if (found->count == 0) {
        found->at = at;
        found->line = line;
        snprintf(found->message, sizeof(found->message), "%s", message);
    }
    found->count += count;
    problems->any = true;
}

void parser_note_problems(const struct parser *parser, enum parse_result result, struct json_problems *problems,
                          uint64_t at, uint64_t line)
{
    if (result == PARSE_NOT_AN_EVENT || result == PARSE_NOT_JSON || result == PARSE_CUT)
        json_problems_add(problems, parser->problem, 1, at, line, parser->message);
    else if (parser->surrogates > 0)
        json_problems_add(problems, JSON_SURROGATE, parser->surrogates, at, line, "");
}

/* Writes the message for an event TEXT that is not valid. Returns PARSE_NOT_AN_EVENT. */
static enum parse_result describe_fault(struct parser *parser, struct json_text text, const struct event_fault *fault)
{
    struct json_text key, value, last = {0};
    const char *at = text.at + 1, *end = text.at + text.length;
    char shown[JSON_SHOWN_BYTES];
    while (json_member(&at, end, &key, &value))
        if (key.length == strlen(fault->key) && memcmp(key.at, fault->key, key.length) == 0)
            last = value;
    parser->problem = fault->problem;
    parser->error_at = last.length > 0 ? (size_t)(last.at - text.at) : 0;
    if (last.length > 0)
        snprintf(parser->message, sizeof(parser->message), "\"%s\" is %s: expected %s", fault->key,
                 json_show(shown, last.at, last.length), fault->expected);
    else
        snprintf(parser->message, sizeof(parser->message), "there is no \"%s\": expected %s", fault->key,
                 fault->expected);
    return PARSE_NOT_AN_EVENT;
}

/* Writes the message for a text that json_check() found invalid. */
static void describe(struct parser *parser, const char *text, size_t length, const struct json_fault *fault)
{
    char found[JSON_SHOWN_BYTES], key[JSON_SHOWN_BYTES];
    parser->problem = JSON_NOT_JSON;
    parser->error_at = fault->at;
    parser->string_at = fault->string_at;
    json_show(found, text + fault->at, length - fault->at);
    json_show(key, fault->key.at, fault->key.length);
    snprintf(parser->message, sizeof(parser->message), "this is not JSON: found %s%s%s%s: expected %s", found,
             *key ? " behind the key \"" : "", key, *key ? "\"" : "", fault->expected);
}

static bool check(struct parser *parser, const char *text, size_t length, struct json_fault *fault)
{
    bool valid = json_check(text, length, fault);
    parser->surrogates = fault->surrogates;
    if (!valid)
        describe(parser, text, length, fault);
    return valid;
}

enum parse_result parser_check(struct parser *parser, const char *text, size_t length)
{
    return check(parser, text, length, &(struct json_fault){0}) ? PARSE_DONE : PARSE_NOT_JSON;
}

/* json_check() comes first, because cJSON accepts more than JSON, such as 01 and 1. */
enum parse_result parser_json(struct parser *parser, const char *text, size_t length, cJSON **root)
{
    struct json_text clean = {text, length};
    struct json_fault fault;
    *root = NULL;
    if (!check(parser, text, length, &fault))
        return PARSE_NOT_JSON;
    if (fault.values * sizeof(cJSON) + length > TREE_LIMIT)
        return PARSE_TOO_LARGE;
    if (fault.not_finite || fault.surrogates > 0)
        clean = json_clean(clean, &parser->plain);
    if (!parser->plain.failure)
        *root = cJSON_ParseWithLength(clean.at, clean.length);
    return *root ? PARSE_DONE : PARSE_TOO_LARGE;
}

/* Reads an event that the fast path gave up. */
static __attribute__((noinline)) enum parse_result read_unusual(struct parser *parser, const char *text, size_t *size,
                                                                struct event_fields *event)
{
    struct json_fault fault;
    struct event_fault lacking;
    char shown[JSON_SHOWN_BYTES];
    json_check(text, *size, &fault);
    if (fault.length == 0) {
        describe(parser, text, *size, &fault);
        return fault.certain ? PARSE_NOT_JSON : PARSE_CUT;
    }
    if (fault.length == *size && !strchr("{[\"", *text)) /* a number or word may be longer in the file */
        return PARSE_CUT;
    *size = fault.length;
    parser->surrogates = fault.surrogates;
    if (*text != '{') {
        parser->problem = JSON_NO_OBJECT;
        parser->error_at = 0;
        snprintf(parser->message, sizeof(parser->message), "found %s: expected an object",
                 json_show(shown, text, *size));
        return PARSE_NOT_AN_EVENT;
    }
    if (text[1 + scan_blank(text + 1, *size - 1)] == '}')
        return PARSE_NOTHING;
    enum parse_result result = event_read_members(text, text + *size, parser->strings, &parser->plain, event, &lacking);
    return result == PARSE_NOT_AN_EVENT ? describe_fault(parser, (struct json_text){text, *size}, &lacking) : result;
}

enum parse_result parser_event(struct parser *parser, const char *text, size_t *size, struct event_fields *event)
{
    parser->surrogates = 0;
    enum parse_result result = fast_path_event(text, text + *size, parser->strings, event, size);
    return result == PARSE_CUT ? read_unusual(parser, text, size, event) : result;
}
