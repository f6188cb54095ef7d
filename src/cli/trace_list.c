#include "cli/trace_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/log.h"
#include "common/suggest.h"
#include "common/settings.h"

static const struct word {
    const char *text;
    int64_t bits;
} words[] = {
#define BIT(name, word, on, text) {word, TRACE_##name},
    TRACE_BITS(BIT)
#undef BIT
        {"cuda", TRACE_DEFAULT & ~(int64_t)TRACE_NVTX},
    {"all", TRACE_DEFAULT},
};
#define WORD_COUNT (sizeof(words) / sizeof(*words))

static const struct word *find(const char *text, size_t length)
{
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (strlen(words[i].text) == length && memcmp(words[i].text, text, length) == 0)
            return &words[i];
    return NULL;
}

static int error_unknown(const char *text, size_t length)
{
    struct suggestion nearest = suggestion_for(text, length);
    for (size_t i = 0; i < WORD_COUNT; i++)
        suggestion_consider(&nearest, words[i].text);
    if (nearest.word)
        return error("--trace: '%.*s' is not valid: did you mean '%s'?", (int)length, text, nearest.word);
    return error("--trace: '%.*s' is not valid: use all, none, or a list of"
#define BIT(name, word, on, text) " " word
                 TRACE_BITS(BIT),
#undef BIT
                 (int)length, text);
}

static int apply(const char *item, size_t length, int64_t *bits)
{
    bool takes_away = *item == '-';
    const char *name = item + takes_away;
    size_t name_length = length - takes_away;
    if (!takes_away && name_length == 4 && memcmp(name, "none", 4) == 0) {
        *bits = 0;
        return 0;
    }
    const struct word *word = find(name, name_length);
    if (!word)
        return error_unknown(name, name_length);
    if (takes_away)
        *bits &= ~word->bits;
    else
        *bits |= word->bits == TRACE_API_ALL ? TRACE_DEFAULT | TRACE_API_ALL : word->bits;
    return 0;
}

int trace_list_parse(const char *text, int64_t *bits)
{
    *bits = *text == '-' ? TRACE_DEFAULT : 0;
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (length == 0)
            return error("'--trace=%s' has an empty item: it takes all, none, or names with commas between", text);
        if (apply(item, length, bits) < 0)
            return -1;
        item += length;
        if (!*item)
            return 0;
    }
}
