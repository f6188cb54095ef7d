#include "trace/event.h"

const struct word category_words[CATEGORY_COUNT] = {[CATEGORY_OTHER] = {"", 0},
#define CATEGORY(name, text) [CATEGORY_##name] = {text, sizeof(text) - 1},
                                                    CATEGORIES(CATEGORY)
#undef CATEGORY
};

const struct word arg_words[ARG_KEY_COUNT] = {[ARG_OTHER] = {"", 0},
#define KEY(name, text) [ARG_##name] = {text, sizeof(text) - 1},
#define FIELD(name, text, type, field) KEY(name, text)
                                              ARG_KEYS(KEY, FIELD)
#undef KEY
#undef FIELD
};

static struct word_set categories, keys;

__attribute__((constructor)) static void add_words(void)
{
    for (size_t i = ARG_OTHER + 1; i < ARG_KEY_COUNT; i++)
        word_set_add(&keys, &arg_words[i], i);
    for (size_t i = CATEGORY_OTHER + 1; i < CATEGORY_COUNT; i++)
        word_set_add(&categories, &category_words[i], i);
}

enum category category_find(const char *text, size_t length)
{
    return (enum category)word_set_find(&categories, text, length);
}

enum arg_key arg_key_find(const char *text, size_t length)
{
    return (enum arg_key)word_set_find(&keys, text, length);
}
