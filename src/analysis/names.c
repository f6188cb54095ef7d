#include "analysis/names.h"

#include <stdbool.h>
#include <string.h>

/* Brackets may nest so deep; a name with deeper ones is left as it is. */
#define DEPTH_MAX 128

struct shortener {
    const char *name;
    size_t length, at;
    char *out;
    size_t out_length;
    bool converting; /* within "operator TYPE": blanks do not end a return type */
};

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '$' || c < 0;
}

static bool starts_with(const struct shortener *s, size_t at, const char *text)
{
    size_t size = strlen(text);
    return s->length - at >= size && memcmp(s->name + at, text, size) == 0;
}

/* Bytes of "operator" and its symbol, which may be brackets, at AT; 0: none is there. */
static size_t operator_size(const struct shortener *s, size_t at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
                                          ">>", "<=", ">=",  "->",  "<",   ">"};
    size_t size = strlen("operator");
    if (!starts_with(s, at, "operator") || (at > 0 && is_word(s->name[at - 1])))
        return 0;
    if (at + size < s->length && is_word(s->name[at + size]))
        return 0;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (starts_with(s, at + size, symbols[i]))
            return size + strlen(symbols[i]);
    return size;
}

static char closer(char open)
{
    switch (open) {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default: return '\0';
    }
}

/* The place behind the bracket that closes the one at AT; 0: there is none. Within round brackets a '<' or '>' without
 * its partner is a comparison. */
static size_t skip_brackets(const struct shortener *s, size_t at)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    for (; at < s->length; at++) {
        char c = s->name[at];
        size_t operator= c == 'o' ? operator_size(s, at) : 0;
        if (operator) {
            at += operator- 1;
        } else if (closer(c)) {
            if (depth == DEPTH_MAX)
                return 0;
            open[depth++] = c;
        } else if (c == '>') {
            if (open[depth - 1] == '<' && s->name[at - 1] != '-')
                depth--;
        } else if (c == ')' || c == ']' || c == '}') {
            while (depth > 0 && open[depth - 1] == '<')
                depth--;
            if (depth == 0 || closer(open[depth - 1]) != c)
                return 0;
            depth--;
        }
        if (depth == 0)
            return at + 1;
    }
    return 0;
}

static void copy(struct shortener *s, size_t count)
{
    memcpy(s->out + s->out_length, s->name + s->at, count);
    s->out_length += count;
    s->at += count;
}

/* "{lambda(int)#1}" without its parameters: "{lambda#1}". */
static bool copy_braces(struct shortener *s)
{
    size_t end = skip_brackets(s, s->at);
    if (end == 0)
        return false;
    while (s->at < end) {
        char c = s->name[s->at];
        size_t skipped = (c == '(' || c == '<') ? skip_brackets(s, s->at) : 0;
        if (skipped)
            s->at = skipped;
        else
            copy(s, 1);
    }
    return true;
}

static size_t skip_qualifiers(const struct shortener *s, size_t at)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++)
        if (starts_with(s, at, qualifiers[i]))
            return skip_qualifiers(s, at + strlen(qualifiers[i]));
    return at;
}

enum step { STEP_ON, STEP_END, STEP_FAILED };

/* Parameters: those of the function end the name, those of a function around it are left out. */
static enum step pass_parameters(struct shortener *s)
{
    size_t end = skip_brackets(s, s->at);
    if (end == 0)
        return STEP_FAILED;
    size_t next = skip_qualifiers(s, end);
    if (!starts_with(s, next, "::"))
        return STEP_END;
    s->at = next;
    return STEP_ON;
}

static enum step step(struct shortener *s)
{
    static const char unnamed[] = "(anonymous namespace)";
    char c = s->name[s->at];
    size_t operator= c == 'o' ? operator_size(s, s->at) : 0;
    if (operator) {
        copy(s, operator);
        s->converting = s->at < s->length && s->name[s->at] == ' ';
        return STEP_ON;
    }
    if (c == '(' && starts_with(s, s->at, unnamed)) {
        copy(s, strlen(unnamed));
        return STEP_ON;
    }
    if (c == '(')
        return pass_parameters(s);
    if (c == '<' || c == '[') {
        size_t end = skip_brackets(s, s->at);
        s->at = end;
        return end ? STEP_ON : STEP_FAILED;
    }
    if (c == '{')
        return copy_braces(s) ? STEP_ON : STEP_FAILED;
    if (c == ' ' && !s->converting) { /* what came before was the return type */
        s->out_length = 0;
        s->at++;
        return STEP_ON;
    }
    if (c == ':')
        s->converting = false;
    copy(s, 1);
    return STEP_ON;
}

size_t name_shorten(const char *name, size_t length, char *short_name)
{
    struct shortener s = {.name = name, .length = length, .out = short_name};
    enum step result = STEP_ON;
    while (s.at < length && result == STEP_ON)
        result = step(&s);
    while (s.out_length > 0 && short_name[s.out_length - 1] == ' ')
        s.out_length--;
    if (result != STEP_END || s.out_length == 0) {
        memcpy(short_name, name, length);
        s.out_length = length;
    }
    short_name[s.out_length] = '\0';
    return s.out_length;
}
