/* Quotes a word as a shell needs it: in single quotes, or as $'...' where it has control characters. */
#include "common/shell_word.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^"

/* Writes TEXT into OUT, which has five bytes for each of TEXT's and some more. */
static void quote(char *out, const char *text)
{
    bool control = false;
    for (const char *at = text; *at; at++)
        control |= (unsigned char)*at < ' ' || *at == 0x7f;
    out += sprintf(out, control ? "$'" : "'");
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            out += sprintf(out, "\\%03o", (unsigned char)*text);
        else if (*text == '\'')
            out += sprintf(out, control ? "\\'" : "'\\''");
        else
            out += sprintf(out, control && *text == '\\' ? "\\\\" : "%c", *text);
    }
    strcpy(out, "'");
}

static const char *word(const char *before, const char *text)
{
    static _Thread_local char *words[4];
    static _Thread_local unsigned next;
    char **place = &words[next++ % 4], *whole = NULL;
    size_t length = strlen(text);
    bool plain = length > 0 && strspn(text, PLAIN) == length;
    if (plain && !*before)
        return text;
    free(*place);
    *place = malloc(5 * length + 8);
    if (!*place || asprintf(&whole, "%s%s", before, text) < 0)
        return text;
    if (plain)
        strcpy(*place, whole);
    else
        quote(*place, whole);
    free(whole);
    return *place;
}

const char *shell_word(const char *text)
{
    return word("", text);
}

const char *shell_file(const char *name)
{
    return word(*name == '-' ? "./" : "", name);
}
